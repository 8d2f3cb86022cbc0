"""Seed 1's prompt scoring: one prompt on its test cases, two versions on the same cases."""
