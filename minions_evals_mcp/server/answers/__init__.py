"""Answers that fit a context window, and their shapes."""
