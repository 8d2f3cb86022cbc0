"""Four real hosts with scripted models: `python -m tests.hosts` installs them from npm and prints a table; tests skip without them."""
