"""`python -m minions_evals_mcp.cli`."""

from __future__ import annotations

from minions_evals_mcp.cli.entry import evals

evals()
