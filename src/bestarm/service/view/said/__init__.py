"""A study in sentences: what can be said of it, why, and what remains."""
