"""The scores that checks give an output: a check's own, and that of a metric which checks name."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from minions_evals_mcp.domain.values import Amount, Text, Unit, Value


class MetricScore(NamedTuple):
    """A score (0–1) under the name of its metric, and what it weighs there."""

    name: str
    score: float
    weight: float = 1.0


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
