"""A Python function of the user's as the target: called by its signature, watched while it works, its value read as an output."""
