"""Commands that take in, write out and score records and tables."""
