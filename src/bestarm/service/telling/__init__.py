"""Tells people and programs when a study is settled, is closed, or has a warning."""
