"""Worlds that somebody names, and consent to what they start."""
