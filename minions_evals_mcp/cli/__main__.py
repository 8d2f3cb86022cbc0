"""`python -m minions_evals_mcp.cli`."""

from __future__ import annotations

from minions_evals_mcp.cli.app import main

main()
