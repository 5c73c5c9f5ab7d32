"""One study in memory: what its log has led to, and what is known of it."""
