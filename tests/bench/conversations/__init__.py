"""Benchmarks of conversations."""
