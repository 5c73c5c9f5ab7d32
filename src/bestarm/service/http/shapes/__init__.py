"""The shapes of all bodies, a file for each kind of reader."""
