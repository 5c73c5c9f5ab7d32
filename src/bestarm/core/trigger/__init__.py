"""How many pulls until the next upload, one file a rule: the paper's triggers, and one that aims."""
