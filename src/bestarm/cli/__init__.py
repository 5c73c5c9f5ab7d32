"""The command line: one file a command group. It only reads and prints; decisions live in the core."""
