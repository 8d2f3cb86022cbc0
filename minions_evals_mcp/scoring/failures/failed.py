"""The material that a failure is recognised from, and what is told of it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.failures.texts import cut
from minions_evals_mcp.scoring.failures.wanted import wanted_arguments, wanted_tools, wanted_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minions_evals_mcp.domain.results import Severity
    from minions_evals_mcp.scoring.checks import SpokenTurn


OWN_CHECKS = "the case's own checks"
"""What stands for a criterion where a case is judged by what it expects."""


@frozen_type
class FailedCriterion:
    """The verdict of one criterion on the output: `fraction` is its score mapped to 0 to 1; `by_rule`: no judge gave the reason.

    `points` are the score as the judge gave it, with the scale that it is on.
    """

    criterion_id: str
    name: str
    fraction: float
    weight: float
    rationale: str
    by_rule: bool = False
    points: str = ""

    @property
    def loss(self) -> float:
        """Returns what the criterion cost the total, 0 to its weight."""
        return self.weight * (1 - self.fraction)

    @property
    def is_opinion(self) -> bool:
        """Returns whether a judge gives the reason, in words of its own."""
        return self.fraction < 1 and not self.by_rule and self.name != OWN_CHECKS


@frozen_type
class FailedOutput:
    """An output that did not pass, with all that is known of how it came about.

    `text` is the output's text. `has_log` is False where nothing recorded the tool calls: an empty
    `tool_calls` then says nothing. `wants_json`: a check for JSON failed, or the expected output is JSON.
    `score_fraction` is the normalised total, 0 to 1. `checks` are the assertions that it was judged by, if any.
    `missing_keys`: keys of the expected record that the output lacks; None: as `expected` has them.
    """

    output: Json
    text: str
    inputs: Json
    expected: Json | None
    tool_calls: tuple[ToolCall, ...]
    has_log: bool
    timed_out: bool
    stop_reason: str | None
    wants_json: bool
    agent_error: str | None
    score_fraction: float
    criteria: tuple[FailedCriterion, ...]
    checks: tuple[Assertion, ...] = ()
    missing_keys: tuple[str, ...] | None = None
    is_talk: bool = False
    """Whether a user said more than the request: what was said stands in `inputs` under `conversation`."""
    turns: tuple[SpokenTurn, ...] = ()
    """The turns of a conversation."""
    knows: Mapping[str, str | int | float | bool] = field(default_factory=dict[str, "str | int | float | bool"])
    """What the user of the conversation knows."""

    @property
    def wanted_tools(self) -> tuple[str, ...]:
        """The tools that the expected trajectory names."""
        return wanted_tools(self.checks)

    @property
    def wanted_arguments(self) -> tuple[tuple[str, Json], ...]:
        """The arguments that the expected trajectory gives, by tool."""
        return wanted_arguments(self.checks)

    @property
    def wanted_words(self) -> Json:
        """The words that the answer must have."""
        return wanted_words(self.checks)

    @property
    def lacks(self) -> tuple[str, ...]:
        """The keys that were expected and did not come."""
        if self.missing_keys is not None:
            return self.missing_keys
        wanted = self.expected or {}
        return tuple(key for key in wanted if key not in self.output) if len(wanted) > 1 else ()

    @property
    def is_empty(self) -> bool:
        """Returns whether nothing came at all."""
        return not self.output or not self.text.strip()


@frozen_type
class Signal:
    """One piece of evidence. `confidence` (0 to 1) is how often it alone is right; under a half it decides nothing."""

    kind: str
    detail: str
    confidence: float

    @property
    def decides(self) -> bool:
        """Returns whether the signal is enough to name the class."""
        return self.confidence >= 0.5

    @property
    def quoted(self) -> str:
        """The signal as it is kept: its kind and a quotation of at most 120 characters."""
        return f"{self.kind}: {cut(self.detail)}"


@frozen_type
class Analysis:
    """The failure's class, and what it rests on. `sure` is False where a reader might see it otherwise."""

    failure_type: FailureType
    severity: Severity
    description: str
    affected_criterion_ids: tuple[str, ...]
    root_cause: str
    signals: tuple[str, ...]
    confidence: float
    sure: bool
