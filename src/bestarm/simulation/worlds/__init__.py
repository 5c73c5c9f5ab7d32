"""Where simulated rewards come from."""
