"""Commands that make suites."""
