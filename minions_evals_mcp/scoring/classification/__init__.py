"""Which class a failure has, and where it began."""
