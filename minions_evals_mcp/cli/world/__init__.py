"""Commands about worlds."""
