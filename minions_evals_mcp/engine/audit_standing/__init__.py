"""The audit of a benchmark as it stands, which runs and approvals ask."""
