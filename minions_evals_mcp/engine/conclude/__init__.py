"""The consequences of a finished run: its figures, regression, trend point and comparison."""
