"""Formats that are tables as well as JSON."""
