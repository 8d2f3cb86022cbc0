"""Runs as tasks of the Tasks extension."""
