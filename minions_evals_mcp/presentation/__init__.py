"""Results and advice in the terms of each interface."""
