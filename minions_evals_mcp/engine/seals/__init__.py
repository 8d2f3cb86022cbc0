"""Sealed benchmarks: what decides is not what an optimiser trains against."""
