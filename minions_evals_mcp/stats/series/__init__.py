"""A series of runs over time: its trend, its levels."""
