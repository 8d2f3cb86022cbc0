"""Tolerant reading of what callers send: omitted values, and keys that nearly match a field."""
