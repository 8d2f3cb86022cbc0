"""The shapes of answers, as tools publish and build them. With `fields` an answer has only what was asked for, so little is required."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SerializeAsAny, WithJsonSchema
from pydantic.alias_generators import to_camel

from minions_evals_mcp.domain.values import Timestamp

Object = Annotated[SerializeAsAny[BaseModel] | dict[str, JsonValue], WithJsonSchema({"type": "object"})]
"""A value of the engine as it is, or a part of one. Published as an object: its fields would cost each caller hundreds of tokens."""
Objects = Sequence[Object]
COMPARISON = "B beside A. maxScore counts the cases where max-score selects A's output (a), B's (b), or can select neither (unpicked)"


class Answer(BaseModel):
    """What every answer says: the summary, whether something was shortened, where the rest begins, what to do next."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True, extra="forbid", defer_build=True
    )
    summary: str
    truncated: bool = False
    next_cursor: str | None = None
    next: Sequence[str] = ()

    @classmethod
    def of(cls, value: BaseModel, /, **said: object) -> Self:
        """The answer that has all the fields of a value of the engine, and what is said besides."""
        return cls.model_validate({**dict(value), **said})

    def wire(self) -> dict[str, JsonValue]:
        """What was said, as it goes out, the summary first; what is unknown is left out."""
        told = self.model_dump(mode="json", include=self.model_fields_set)
        return {name: value for name, value in told.items() if value is not None}


class RunAnswer(Answer):
    """Where a run stands. `outcomes` counts units (case × trial); `open` are not done yet."""

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
        """What was said, without what is nothing there."""
        return {
            name: value for name, value in super().wire().items() if value not in ({}, [], "", 0) or name in self.SAID
        }


class TrialAnswer(Answer):
    """A candidate beside the version in use: `open` whole, of `sealed` the verdict, and the `budget` that is left."""

    version: str = ""
    against: str = ""
    open: Object | None = None
    sealed: Object | None = None
    budget: Object | None = None
    may_be_approved: bool = False


class FailuresAnswer(Answer):
    """Causes of a run's failures, then eval-failures, each with class, cause and evidence; `spent` by this call."""

    causes: Objects = []
    failures: Objects = []
    spent: dict[str, float] | None = None
    estimate: Object | None = None


class PromotedAnswer(Answer):
    """The test case that was made, and its checks."""

    test_case_id: str = ""
    status: str = ""
    name: str = ""
    source_id: str = ""
    wrong_output: str = ""
    corrected: str | None = None
    assertions: Objects = []
    what_was_wrong: str = ""
    benchmark_id: str | None = None


class TrendAnswer(Answer):
    """Where a benchmark's series is heading; `points` are oldest first."""

    benchmark_id: str = ""
    dimension: str = ""
    direction: str = ""
    reason: str = ""
    consecutive_degrading: int = 0
    slope: float | None = None
    slope_interval: list[float] | None = None
    p_value: float | None = None
    volatile: bool = False
    provisional: bool = False
    window: int = 0
    change_points: list[str] = []
    series_length: int = 0
    earlier_series: int = 0
    points: Objects = []
    since: str | None = None
    runs: int = 0
    levels: Objects = []
    flaky: Objects = []
    spent_usd: float = 0


class AuditAnswer(Answer):
    """What cheats and mutants showed; rates are 0–1, `cases` those of the benchmark with holes, the worst first."""

    audit_id: str = ""
    subject: str = ""
    kind: str = ""
    digest: str = ""
    cheat_pass_rate: float | None = None
    mutation_score: float | None = None
    case_count: int = 0
    cheated_count: int = 0
    mutant_count: int = 0
    killed_count: int = 0
    look_count: int = 0
    not_audited_count: int = 0
    by_kind: Object = {}
    findings: Object = {}
    with_judge: str | None = None
    judge_error_count: int = 0
    judge_problem: str = ""
    spent_usd: float = 0
    covers: dict[str, str] = {}
    auditor: str = ""
    audited_at: Timestamp | None = None
    cases: Objects = []


class StatisticsAnswer(Answer):
    """Figures of a test case (`passRate` 0–100, `avgScore` 0–1), of a prompt's test cases, or of a branch and its case."""

    test_case_id: str = ""
    test_case: Object | None = None
    total_runs: int = 0
    pass_rate: float | None = None
    avg_score: float | None = None
    recent_runs: Objects = []
    regressions: Objects = []
    trend_data: Objects = []
    executions: Objects = []
    test_cases: Objects = []
    branches: Objects = []
    configurations: Objects = []


class ScoresAnswer(Answer):
    """Verdicts of rows, selections of picks, or the card of a table; nothing is kept."""

    results: Objects = []
    card: Object | None = None
    before: Object | None = None
    changes: Object | None = None


class RecordsAnswer(Answer):
    """A page of records."""

    records: Objects = []


class RecordAnswer(Answer):
    """One record, and what it is linked to."""

    record: Object | None = None
    relations: Objects = []
    gates: Objects | None = None
    id: str = ""
    part: str = ""


class SavedAnswer(Answer):
    """How many records were new, changed, or said what was kept already."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    ids: list[str] = []


class DeletedAnswer(Answer):
    """The record that is hidden now."""

    id: str
    type: str


class ApprovalAnswer(Answer):
    """The decision as it is kept."""

    id: str
    prompt_version_ref: str
    comparison_id: str | None = None
    decision: str
    reason: str
    decided_by: str
    decided_by_type: str
    judge: Object | None = None


class ReceiptAnswer(Answer):
    """Where a message stands; `agentRunning` says whether somebody is there to carry it out."""

    id: str
    type: str
    topic: str
    state: str
    is_new: bool
    agent_running: bool


class IndexAnswer(Answer):
    """What is kept: how many records of each type, the newest runs, and where the rest is read."""

    records: dict[str, int]
    runs: Objects
    guide: str
    templates: Sequence[str]


class ResultsAnswer(Answer):
    """A page of a run's results: the failed first, the lowest score first."""

    run_id: str
    state: str
    results: Objects


class OutboxAnswer(Answer):
    """What integrations are notified of, newest first, and how far that is."""

    waiting: Objects
    refused: Objects
    rows: Objects
