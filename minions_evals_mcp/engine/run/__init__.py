"""Test-runs and benchmark-runs: planned, carried out unit by unit, judged anew."""
