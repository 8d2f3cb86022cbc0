"""Advice as the command line shows it, for tests that read it in the engine."""

from __future__ import annotations

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.presentation.next_steps import Terminal, in_terms


def typed(advice: str | EvalsError) -> str:
    """The text, or the error with its remedy, with commands and options."""
    return in_terms(advice.text if isinstance(advice, EvalsError) else advice, Terminal())
