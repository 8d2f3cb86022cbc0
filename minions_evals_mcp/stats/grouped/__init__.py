"""Statistics of cases that share groups. They are not in `nested`, which imports the intervals that import these."""
