"""The paper's experiments, run again: `reproduce` writes the numbers, the figures and the report."""
