"""The parts of a report: runs in figures, their history, and each case as it was tried."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import Evidence, Outcome, PromptComparison, RegressionType
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.audited_checks import AuditedChecks
from minions_evals_mcp.engine.answers.run_before import RunBefore
from minions_evals_mcp.engine.answers.run_diff import CaseChange, RunDiff
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.store.queries.report_units import CriterionScore

Status = Literal["passed", "failed", "unscored", "absent"]
NAMED = 12
"""So many newly failing cases stand at the top of a report by name."""


class CriterionMean(Value):
    """A criterion or named metric over a run; `before` is its mean in the run beside it."""

    id: str
    title: str
    score: float
    max_score: float
    runs: int
    before: float | None = None


class ReportTrendPoint(Value):
    """One run in a benchmark's history. `new_series`: measured differently than the run before, so not to be compared.

    `is_regression`: it fell by more than the documents' limit; `evidence` says whether that is more than chance.
    """

    run_id: str
    at: Timestamp
    score: float
    interval: tuple[float, float] | None
    passed: int
    total: int
    version: str | None
    new_series: bool
    is_regression: bool
    judged_by: tuple[str, ...] = ()
    evidence: Evidence | None = None

    @property
    def is_supported(self) -> bool:
        """Whether it fell, and by more than chance."""
        return self.is_regression and self.evidence == "supported"


class Side(Value):
    """A run in figures: `passed` of its `judged` test-runs. `threshold` is the benchmark's as it is now."""

    summary: RunSummary
    title: str
    passed: int
    judged: int
    threshold: float | None


class Report(Value):
    """Everything but the cases. `diff` and `before` are there where two runs stand side by side."""

    run: Side
    before: Side | None
    comparison: PromptComparison | None
    diff: RunDiff | None
    criteria: tuple[CriterionMean, ...]
    history: tuple[ReportTrendPoint, ...]
    names: dict[str, str] = {}
    """Prompt versions by name."""
    since: RunBefore | None = None
    """The run before and what changed since, of one run alone."""
    checks: AuditedChecks | None = None
    """None where the checks were not audited as they are."""


class ReportCause(Value):
    """The reason of a case's failure, as rules found it; `model_says` stands beside that where a model was asked."""

    failure_type: str
    severity: str
    description: str
    root_cause: str
    model_says: str = ""
    confidence: float | None = None
    signals: tuple[str, ...] = ()
    """What the type of the failure rests on, as it was found in the output."""


T = TypeVar("T")


def either(tried: T | None, before: T | None) -> T:
    """The trial, else the one before: a case in a report has one of them."""
    side = tried or before
    assert side is not None
    return side


def status_of(passed: int | None) -> Status:
    """Returns how a case stands that was tried; without a verdict it is unscored."""
    if passed is None:
        return "unscored"
    return "passed" if passed else "failed"


class ReportedTrial(Value):
    """One trial of a case in one run. Without a verdict `passed` and `score` (0–1) are None and `reason` says why.

    `cautions` are what should have somebody look at the verdict.
    """

    run_id: str
    test_run_id: str | None
    outcome: Outcome
    reason: str
    passed: bool | None
    score: float | None
    points: float | None
    possible: float | None
    output: Json | None
    text: str
    tool_calls: list[JsonValue]
    judgments: tuple[CriterionScore, ...]
    metrics: dict[str, float]
    cause: ReportCause | None
    latency_ms: float | None
    cost_usd: float | None
    checks: tuple[Json, ...] = ()
    cautions: tuple[str, ...] = ()
    regression_types: Annotated[tuple[RegressionType, ...], Field(strict=False)]
    flipped: bool


class ReportedCase(Value):
    """A case as it was tried. `edited`: it was changed since, so `inputs` and `expected` may not be what was judged."""

    test_case_id: str
    title: str
    trial: int
    inputs: Json
    expected: Json | None
    edited: bool
    tried: ReportedTrial | None
    before: ReportedTrial | None
    change: CaseChange | None

    @property
    def either_trial(self) -> ReportedTrial:
        """The trial of the run that the report is about, else that of the run beside it."""
        return either(self.tried, self.before)

    @property
    def status(self) -> Status:
        """Returns how it stands in the run that the report is about; an instrument that failed is no failure."""
        return "absent" if self.tried is None else status_of(self.tried.passed)
