"""Queries over JSON, and templates that hold them."""
