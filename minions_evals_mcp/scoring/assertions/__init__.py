"""Assertions: one grammar of checks, one table of types, one verdict."""
