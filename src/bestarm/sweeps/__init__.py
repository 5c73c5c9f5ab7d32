"""Many simulations: a grid of cells, worked on in pieces by all cores or a cluster, and kept as they finish."""
