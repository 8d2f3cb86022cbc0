"""How often verdicts, gates, plans and levels are right, by simulation."""
