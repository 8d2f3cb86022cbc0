"""The sources of messages: standard input, a watched folder."""
