"""A/B tests: branches of a test case run side by side, ranked, and their kept executions."""
