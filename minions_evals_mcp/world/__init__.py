"""Worlds at work: tool servers that record, replay or mock the calls of an agent under test."""
