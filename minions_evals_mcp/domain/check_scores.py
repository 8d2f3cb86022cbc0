"""The score that one check gave an output."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.values import Amount, Text, Unit, Value


class CheckScore(Value):
    """One check's own verdict on an output; `parts` are those of a set of checks.

    `digest` is that of the check and of whoever judges by it: two scores with one digest are comparable. `durationMs` and
    `costUsd` are absent where they were not measured.
    """

    name: Text
    digest: str
    score: Unit
    passed: bool
    reason: str = ""
    weight: Amount = 1.0
    duration_ms: Amount | None = None
    cost_usd: Amount | None = None
    parts: Annotated[tuple[CheckScore, ...], Field(strict=False)] = ()
