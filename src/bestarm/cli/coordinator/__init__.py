"""Commands for coordinators."""
