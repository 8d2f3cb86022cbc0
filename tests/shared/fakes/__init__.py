"""Servers at the edge of the machine that speak the real protocols."""
