"""Judgments that people and callers hand in, the queue that they work through, and how far they agree."""
