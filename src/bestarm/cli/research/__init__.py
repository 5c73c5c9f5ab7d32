"""Commands for researchers, and what they share."""
