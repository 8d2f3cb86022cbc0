"""Conversations with the agent under test: who plays the user, and how the two take turns."""
