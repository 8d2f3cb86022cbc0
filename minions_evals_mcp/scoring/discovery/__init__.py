"""What a set of production traces shows: what went wrong, which fail alike, which ask the same, and what no case covers."""
