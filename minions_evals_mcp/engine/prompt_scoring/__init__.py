"""Prompt scoring: one prompt on its test cases, two versions on the same cases."""
