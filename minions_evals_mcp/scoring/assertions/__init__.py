"""Assertions: one grammar of checks, one table of types, one verdict."""

from __future__ import annotations

from minions_evals_mcp.scoring.assertions.judges import refuse_elsewhere
from minions_evals_mcp.scoring.assertions.kinds.refusal import refusal_signals
from minions_evals_mcp.scoring.assertions.table import (
    KINDS,
    SCORER_VERSION,
    asks_outside,
    check,
    check_all,
    is_type,
    needs,
    vet,
)
from minions_evals_mcp.scoring.patterns import Elsewhere, compiled

__all__ = [
    "KINDS",
    "SCORER_VERSION",
    "Elsewhere",
    "asks_outside",
    "check",
    "check_all",
    "compiled",
    "is_type",
    "needs",
    "refusal_signals",
    "refuse_elsewhere",
    "vet",
]
