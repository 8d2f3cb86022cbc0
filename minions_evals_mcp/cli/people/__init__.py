"""Commands for people as judges, and for who they are."""
