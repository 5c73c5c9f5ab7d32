"""How the tables became what they are: one step a file, in the order of their numbers, run by Alembic."""
