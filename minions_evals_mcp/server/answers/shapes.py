"""The shapes of answers, as tools publish them. With `fields` an answer has only what was asked for, so little is required."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

Object = dict[str, JsonValue]
COMPARISON = "B beside A. maxScore counts the cases where max-score selects A's output (a), B's (b), or can select neither (unpicked)"


class Answer(BaseModel):
    """What every answer says: the summary, whether something was shortened, where the rest begins, what to do next."""

    model_config = ConfigDict(alias_generator=to_camel, defer_build=True)

    summary: str
    truncated: bool = False
    next_cursor: str | None = None
    next: list[str] = []


class RunAnswer(Answer):
    """Where a run stands. `outcomes` counts units (case × trial); `open` are not done yet."""

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
    bounds: dict[str, float] | None = None
    test_runs: list[Object] = []
    causes: list[Object] = []
    failures: list[Object] = []
    failure_types: dict[str, int] = {}
    unscored: list[Object] = []
    regression: Object | None = None
    trend: Object | None = None
    instructions: str = ""
    criteria: list[Object] = []
    packets: list[Object] = []
    waiting: int = 0
    started_at: str = ""
    estimate: Object | None = None
    executions: list[Object] = []
    not_run: list[Object] = []
    running: list[str] = []
    comparison: Annotated[Object | None, Field(description=COMPARISON)] = None
    ab_test: Object | None = None
    packets_of: str = ""
    part: str = ""


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

    causes: list[Object] = []
    failures: list[Object] = []
    spent: dict[str, float] = {}
    estimate: Object | None = None


class PromotedAnswer(Answer):
    """The test case that was made, and its checks."""

    test_case_id: str = ""
    status: str = ""
    name: str = ""
    source_id: str = ""
    wrong_output: str = ""
    corrected: str | None = None
    assertions: list[Object] = []
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
    points: list[Object] = []
    since: str | None = None
    runs: int = 0
    levels: list[Object] = []
    flaky: list[Object] = []
    spent_usd: float = 0


class AuditAnswer(Answer):
    """What cheats and mutants showed; rates are 0–1, `cases` those of the benchmark with holes, the worst first."""

    audit_id: str = ""
    digest: str = ""
    cheat_pass_rate: float | None = None
    mutation_score: float | None = None
    case_count: int = 0
    by_kind: Object = {}
    findings: Object = {}
    cases: list[Object] = []


class StatisticsAnswer(Answer):
    """Figures of a test case (`passRate` 0–100, `avgScore` 0–1), of a prompt's test cases, or of a branch and its case."""

    test_case_id: str = ""
    test_case: Object | None = None
    total_runs: int = 0
    pass_rate: float | None = None
    avg_score: float | None = None
    recent_runs: list[Object] = []
    regressions: list[Object] = []
    trend_data: list[Object] = []
    executions: list[Object] = []
    test_cases: list[Object] = []
    branches: list[Object] = []
    configurations: list[Object] = []


class ScoresAnswer(Answer):
    """Verdicts of rows, selections of picks, or the card of a table; nothing is kept."""

    results: list[Object] = []
    card: Object | None = None
    before: Object | None = None
    changes: JsonValue = None


class RecordsAnswer(Answer):
    """A page of records."""

    records: list[Object] = []


class RecordAnswer(Answer):
    """One record, and what it is linked to."""

    record: Object | None = None
    relations: list[Object] = []
    gates: list[Object] = []
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
    judge: Object | None = None


class ReceiptAnswer(Answer):
    """Where a message stands; `agentRunning` says whether somebody is there to carry it out."""

    id: str
    type: str
    topic: str
    state: str
    is_new: bool
    agent_running: bool
