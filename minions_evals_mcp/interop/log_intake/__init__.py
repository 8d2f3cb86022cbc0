"""The import of a log, whole."""
