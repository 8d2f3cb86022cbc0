"""Readers of labels, judges and attempts."""
