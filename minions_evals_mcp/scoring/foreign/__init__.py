"""Scorers of other tools: what their documentation says they do, and what a recorded score says."""
