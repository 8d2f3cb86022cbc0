"""The outputs of a config in a terminal: a row for each test, a column for each prompt with each provider."""
