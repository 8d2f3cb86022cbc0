"""The likeness of two texts."""
