"""Test cases over time: baselines, history, statistics, and the prompt that they test."""
