"""What follows from a finished run: its figures, regression, trend point and comparison."""
