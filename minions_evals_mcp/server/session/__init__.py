"""The parts that calls work with: the open engine, runs in the background, a person who can be asked."""
