"""The tables: what stands in their rows, and how a database is opened and brought up to date."""
