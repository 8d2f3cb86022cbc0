"""Commands that compare and decide."""
