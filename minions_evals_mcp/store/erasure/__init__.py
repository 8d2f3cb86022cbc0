"""Erasure of content."""
