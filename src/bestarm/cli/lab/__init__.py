"""Commands at a site."""
