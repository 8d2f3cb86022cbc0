"""Statistics of cases that share groups."""
