"""Simulated federations: thousands of runs in seconds, with the very rules that agents and servers use."""
