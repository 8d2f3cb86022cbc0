"""The types that the tools that run, follow and judge take and answer."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, JsonValue, model_validator

from minions_evals_mcp.domain.values import VersionName
from minions_evals_mcp.server.edge.answer import Answer, Object, Objects
from minions_evals_mcp.server.edge.argument_types import (
    Cap,
    Cases,
    Cursor,
    Detail,
    Dry,
    Fields,
    Id,
    Judge,
    Key,
    Limit,
    Name,
    Target,
    Trials,
    Wait,
)
from minions_evals_mcp.server.edge.guard import Arguments


class _Run(Arguments):
    """The options of every run."""

    judge: Judge = "auto"
    target: Target | None = None
    trials: Trials = 1
    fresh: Annotated[bool, Field(description="Reuse no judgment")] = False
    recorded: Annotated[bool, Field(description="Recorded outputs first, target for the rest")] = False
    idempotency_key: Key = None
    wait_seconds: Wait = 0
    max_cost_usd: Cap | None = None
    dry_run: Dry = False
    triggered_by: Name = "mcp"


class RunTestCase(_Run):
    """run_test_case"""

    test_case_id: Annotated[Id | None, Field(examples=["support/refund"])] = None
    prompt_id: Annotated[Id | None, Field(description="A batch")] = None
    test_case_ids: Cases | None = None
    agent_run_id: Annotated[Id | None, Field(description="Judge this recorded output")] = None
    prompt_version_ref: VersionName | None = None

    @model_validator(mode="after")
    def _one_case_or_a_batch(self) -> RunTestCase:
        if (self.test_case_id is None) == (self.prompt_id is None):
            raise ValueError("give testCaseId, or promptId for a batch of its cases")
        if self.test_case_ids is not None and self.prompt_id is None:
            raise ValueError("testCaseIds goes with promptId, whose cases they are")
        if self.agent_run_id is not None and self.test_case_id is None:
            raise ValueError("agentRunId goes with testCaseId")
        return self


class RunBenchmark(_Run):
    """run_benchmark"""

    benchmark_id: Annotated[Id, Field(examples=["support/quality"])]
    prompt_version_ref: VersionName | None = None
    rejudge_run_id: Name | None = None
    test_case_ids: Cases | None = None
    limit: Limit = 5

    @model_validator(mode="after")
    def _one_choice_of_cases(self) -> RunBenchmark:
        if self.test_case_ids is not None and self.rejudge_run_id is not None:
            raise ValueError("testCaseIds goes without rejudgeRunId, which judges that run's cases")
        if self.test_case_ids is not None and len(set(self.test_case_ids)) < len(self.test_case_ids):
            raise ValueError("testCaseIds: a case is named twice")
        return self


class ComparePromptVersions(_Run):
    """compare_prompt_versions"""

    benchmark_id: Id | None = None
    version_a: Annotated[Id | None, Field(description="In use now")] = None
    version_b: Annotated[Id | None, Field(description="Candidate")] = None
    run_ids: (
        Annotated[list[Name], Field(min_length=2, max_length=2, description="Or two stored runs, current first")] | None
    ) = None
    tie_threshold: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _two_sides(self) -> ComparePromptVersions:
        named = (self.benchmark_id, self.version_a, self.version_b)
        if self.run_ids is None and None in named:
            raise ValueError("give benchmarkId, versionA and versionB, or runIds")
        if self.run_ids is not None and any(named):
            raise ValueError("runIds goes without benchmarkId, versionA and versionB")
        if self.run_ids is None and self.version_a == self.version_b:
            raise ValueError("versionB is versionA; name two versions")
        if self.run_ids is not None and self.run_ids[0] == self.run_ids[1]:
            raise ValueError("runIds: name two runs")
        return self


class GetRun(Arguments):
    """get_run"""

    run_id: Annotated[Name, Field(description="A run's id or idempotencyKey")]
    wait_seconds: Wait = 0
    limit: Limit = 5
    cursor: Cursor | None = None
    detail: Detail = "summary"
    fields: Fields = []
    packet: Annotated[
        Annotated[str, Field(max_length=80)] | None, Field(description="A packet's digest: read it in whole")
    ] = None


class CancelRun(Arguments):
    """cancel_run"""

    run_id: Name


class Judgment(Arguments):
    """One criterion's score."""

    criterion_id: Id
    score: Annotated[float, Field(ge=-1e9, le=1e9)]
    rationale: Annotated[str, Field(min_length=1, max_length=4000)]
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0


class AnsweredPacket(Arguments):
    """All judgments of one packet."""

    digest: Annotated[str, Field(min_length=1, max_length=80)]
    judgments: Annotated[list[Judgment], Field(min_length=1, max_length=100)]


class SubmitJudgments(Arguments):
    """submit_judgments"""

    run_id: Id
    judged_by: Annotated[Name | None, Field(description="Your agent's id; else your client's name")] = None
    packets: Annotated[list[AnsweredPacket], Field(min_length=1, max_length=50)]
    limit: Limit = 5


COMPARISON = "B beside A. maxScore counts the cases where max-score selects A's output (a), B's (b), or can select neither (unpicked)"


class RunAnswer(Answer):
    """The state of a run. `outcomes` counts units (case × trial); `open` are not done yet."""

    SAID: ClassVar = frozenset({"units", "open", "outcomes"})
    """What is said even where it is nothing."""

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
    packets_of: str = ""
    part: str = ""
    judge: Object | None = None
    default_judge: str = ""
    corrected: Object | None = None
    audit: Object | None = None
    names: dict[str, str] = {}

    def wire(self) -> dict[str, JsonValue]:
        """Returns what was said, without what is nothing there."""
        return {
            name: value for name, value in super().wire().items() if value not in ({}, [], "", 0) or name in self.SAID
        }
