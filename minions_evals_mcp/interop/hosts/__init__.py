"""The settings files of MCP hosts: where each is, and how a server is named in it."""
