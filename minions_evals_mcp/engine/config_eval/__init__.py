"""A promptfoo config carried out: prompts x providers x tests, kept cell by cell."""
