"""Assertions on the tools that an output's agent called."""
