"""Failures: classified, explained by a model, resolved."""
