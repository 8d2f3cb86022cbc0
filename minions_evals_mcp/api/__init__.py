"""The verbs of an engine for Python programs, by what it is about; `docs/reference/python.md` says which verb is for what."""
