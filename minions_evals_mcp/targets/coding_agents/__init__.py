"""Coding agents that are started by their command lines."""
