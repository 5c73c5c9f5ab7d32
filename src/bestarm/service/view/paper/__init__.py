"""A study on one page, for a lab book."""
