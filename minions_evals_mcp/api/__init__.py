"""What a Python program asks of an engine, by what it is about; `docs/python-verbs.md` says which verb is for what."""
