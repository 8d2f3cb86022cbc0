"""Figures that are skewed (times, costs): their quantiles."""
