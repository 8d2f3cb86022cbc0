"""Databases of worlds: SQLite that strangers write for, within bounds."""
