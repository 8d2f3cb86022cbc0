"""Plugins of coding agents: their cases for `claude plugin eval`, as records of a lift."""
