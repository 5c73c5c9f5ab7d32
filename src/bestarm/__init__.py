"""bestarm."""
