"""The class of a failure, how grave it is, and where it began."""
