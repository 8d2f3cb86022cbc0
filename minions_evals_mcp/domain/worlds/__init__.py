"""Worlds: the definition of what an agent under test can act on, and what is known of it after a unit."""
