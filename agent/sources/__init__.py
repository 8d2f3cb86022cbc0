"""Where messages come from: standard input, a watched folder."""
