"""Figures, never timed tests: run them by hand, each prints what it measured beside its floor."""
