"""A study's log as a file, and the proof that it is the log."""
