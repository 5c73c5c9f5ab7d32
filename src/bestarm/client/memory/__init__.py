"""What a site remembers: one file that survives a kill at any instruction, and whose it is."""
