"""The types that the tools that run, follow and judge take and answer."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from minions_evals_mcp.server.edge.answer import Object, Objects, ToolAnswer
from minions_evals_mcp.server.edge.argument_types import (
    Id,
    Limit,
    Name,
)
from minions_evals_mcp.server.edge.compact import compacted
from minions_evals_mcp.server.edge.guard import ToolArguments


class Judgment(ToolArguments):
    """One criterion's score."""

    criterion_id: Id
    score: Annotated[float, Field(ge=-1e9, le=1e9)]
    rationale: Annotated[str, Field(min_length=1, max_length=4000)]
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None


class PacketAnswer(ToolArguments):
    """All judgments of one request, or the message of the user that it asks for."""

    digest: Annotated[str, Field(min_length=1, max_length=80)]
    judgments: Annotated[list[Judgment], Field(max_length=100)] = []
    message: Annotated[str | None, Field(description="The user's message", max_length=20_000)] = None
    leaves: Annotated[bool, Field(description="The user ends the conversation")] = False


class SubmitJudgments(ToolArguments):
    """submit_judgments"""

    run_id: Id
    judged_by: Annotated[Name | None, Field(description="Your agent's id (default: your client's name)")] = None
    packets: Annotated[list[PacketAnswer], Field(min_length=1, max_length=50)]
    limit: Limit = 5


COMPARISON = "B beside A. maxScore counts the cases where max-score selects A's output (a), B's (b), or can select neither (unpicked)"


VERDICT = "passed: the threshold is reached. regression: new, not-recovered, fall or none, with evidence"


class RunAnswer(ToolAnswer):
    """The state of a run. `outcomes` counts units (case × trial); `open` are not done yet."""

    SAID: ClassVar = frozenset({"units", "open"})
    """What is said even where it is nothing."""
    EXACT: ClassVar = frozenset({"packets", "testRuns", "executions", "abTest", "estimate"})
    """What agents wrote, what is stored, results as document 5 has them, and an estimate, whose price may be unknown."""

    verdict: Annotated[Object | None, Field(description=VERDICT)] = None
    run_id: str = ""
    key: str = ""
    kind: str = ""
    subject_id: str = ""
    state: str = ""
    reason: str = ""
    units: int = 0
    outcomes: dict[str, int] = {}
    open: int = 0
    spent: dict[str, float] = {}
    benchmark_run: Object | None = None
    bounds: Object | None = None
    test_runs: Objects = []
    causes: Objects = []
    failures: Objects = []
    failure_types: dict[str, int] = {}
    unscored: Objects = []
    regression: Object | None = None
    fall: Object | None = None
    change: Object | None = None
    level_change: Object | None = None
    trend: Object | None = None
    instructions: str = ""
    criteria: Objects = []
    packets: Objects = []
    waiting: int = 0
    started_at: str = ""
    estimate: Object | None = None
    executions: Objects = []
    not_run: Objects = []
    running: list[str] = []
    comparison: Annotated[Object | None, Field(description=COMPARISON)] = None
    ab_test: Object | None = None
    trial: Object | None = None
    packets_of: str = ""
    part: str = ""
    judge: Object | None = None
    default_judge: str = ""
    corrected: Object | None = None
    user_errors: Object | None = None
    variance: Object | None = None
    reliability: Object | None = None
    audit: Object | None = None
    minimum_detectable: float | None = None
    names: dict[str, str] = {}

    def wire(self) -> dict[str, JsonValue]:
        """What was said, without what is nothing there and with three digits; the verdict comes first."""
        said = super().wire()
        first = {name: said.pop(name) for name in ("summary", "verdict") if name in said}
        shown = {name: value if name in self.EXACT else compacted(value) for name, value in {**first, **said}.items()}
        return {name: value for name, value in shown.items() if value not in ({}, [], "", 0) or name in self.SAID}
