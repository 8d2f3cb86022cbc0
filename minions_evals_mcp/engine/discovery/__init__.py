"""Test cases from production traces: what was read in them, in kinds, as drafts that somebody accepts."""
