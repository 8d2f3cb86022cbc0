"""What a check is given and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import ToolCall


@dataclass(frozen=True, slots=True)
class Subject:
    """The output under test and what was measured while it was made. Times in ms, cost in US dollars; None is unknown."""

    text: str
    latency_ms: float | None = None
    cost_usd: float | None = None
    variables: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True)
class RegexNeed:
    """A pattern that the linear-time engine refuses: it is searched elsewhere, under a time limit, and handed in."""

    pattern: str
    text: str


@dataclass(frozen=True, slots=True)
class Unmet:
    """Evidence that could not be had, and why (time limit, engine died)."""

    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What checks need of the outside, fetched before they run."""

    regexes: Mapping[RegexNeed, bool | Unmet] = field(default_factory=dict[RegexNeed, bool | Unmet])


NO_EVIDENCE = Evidence()


class Checked(NamedTuple):
    """A check's verdict: `score` is 0–1, `reason` says what matched or did not."""

    type: str
    passed: bool
    score: float
    reason: str
    weight: float = 1.0
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A check that could not be carried out: no verdict follows from it."""

    type: str
    reason: str


class Aggregate(NamedTuple):
    """All checks of one output together."""

    passed: bool
    score: float
    results: tuple[Checked, ...]
