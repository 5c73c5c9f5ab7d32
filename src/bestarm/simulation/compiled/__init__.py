"""How the loops of a simulation are compiled, and which code they are."""
