"""Neighbours: who is notified of what, and what is read from them."""
