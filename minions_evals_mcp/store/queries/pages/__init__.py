"""Readers of what pages and lists show."""
