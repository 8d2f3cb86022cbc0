"""Prompts: the chain of a prompt's versions."""
