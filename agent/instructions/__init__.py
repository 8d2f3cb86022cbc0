"""Instructions in plain words, carried out by a model step by step."""
