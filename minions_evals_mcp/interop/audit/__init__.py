"""The file that an audit is of, and the store that it is read into."""
