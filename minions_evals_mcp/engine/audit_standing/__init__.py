"""Whether a benchmark was audited as it stands, which runs and approvals ask."""
