"""Spans and log events of one turn, put together in whatever order they come."""
