"""The pages under docs/reference, made from the code: `python -m tests.reference` writes them anew."""
