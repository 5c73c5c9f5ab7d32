"""Trials as tables that people fill in."""
