"""A candidate tried on a benchmark of which a part is sealed."""
