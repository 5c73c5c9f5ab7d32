"""States that are kept beside a log, so that nobody has to read all of it; and who reads it."""
