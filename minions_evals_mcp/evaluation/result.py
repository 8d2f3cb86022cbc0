"""The result of an evaluation: its verdict, its cases, what changed since the last run, and reports of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.metric_scores import CheckScore
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import answer_given, output_value
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import UNSCORED, Outcome, TestRun
from minions_evals_mcp.engine.answers.run_diff import RunDiff, diff_runs
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine, open_engine
from minions_evals_mcp.engine.run.accepted_runs import accept_run
from minions_evals_mcp.errors import BadInputError, ungrouped
from minions_evals_mcp.evaluation.figures import Figures, ResultOptions
from minions_evals_mcp.evaluation.run_sync import run_sync
from minions_evals_mcp.store import jobs, records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.shared_checks import CheckMean, check_means
from minions_evals_mcp.store.queries.shared_cases import Shared, shared, shared_with_broken
from minions_evals_mcp.store.queries.side_by_side import same_yardsticks

if TYPE_CHECKING:
    import pandas as pd

    from minions_evals_mcp.engine.compare.sample_size import SamplePlan

T = TypeVar("T")
SHOWN = 20
EXPECTED, RUBRIC = "expected", "rubric"
"""The names of the checks of a case that has an expected output only, and of one whose rubric is gone."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check's own verdict on an output. `passed` is None for a criterion that only counts in its rubric's total.

    `duration_ms` and `cost_usd` are None where they were not measured. `parts` are the criteria of a rubric, or the checks of a set.
    """

    name: str
    score: float
    passed: bool | None
    reason: str
    duration_ms: float | None = None
    cost_usd: float | None = None
    parts: Mapping[str, CheckResult] = field(default_factory=dict[str, "CheckResult"])


@dataclass(frozen=True, slots=True)
class CheckAverage:
    """A check over all outputs that it judged: its mean score, and how many of them passed it."""

    name: str
    score: float
    passed: int | None
    total: int


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One trial of one case. `passed` is None where there is no verdict; `reason` says why, or what the checks found.

    `checks` are the verdicts of its checks by name.
    """

    id: str
    name: str
    inputs: JsonValue
    expected: JsonValue
    output: JsonValue
    passed: bool | None
    outcome: Outcome
    score: float | None
    reason: str
    trial: int
    latency_ms: float | None
    cost_usd: float | None
    tool_calls: tuple[ToolCall, ...] | None
    test_run_id: str | None
    checks: Mapping[str, CheckResult] = field(default_factory=dict[str, CheckResult])


class ResultDiff(RunDiff):
    """The changes between two results; printed as `minions-evals diff` prints them."""

    def __str__(self) -> str:
        from minions_evals_mcp.evaluation.shown import diff_text  # noqa: PLC0415  rich is imported where a person looks

        return diff_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from minions_evals_mcp.evaluation.shown import diff_html  # noqa: PLC0415  as above

        return diff_html(self)


@dataclass(eq=False, repr=False)
class EvaluationResult(Figures):
    """A kept evaluation. `print(result)` tells it; `result.passed` is its verdict."""

    @cached_property
    def cases(self) -> list[CaseResult]:
        """Every trial of every case, in order, read from the store."""
        return run_sync(partial(self._read, _cases))

    @cached_property
    def checks(self) -> dict[str, CheckAverage]:
        """Each check's average over all outputs that it judged, by name."""
        return averages(case.checks for case in self.cases)

    @property
    def failures(self) -> list[CaseResult]:
        """Those that failed or have no verdict because something broke."""
        return [case for case in self.cases if case.passed is False or case.outcome in UNSCORED]

    def compare(self, other: EvaluationResult | str) -> ResultDiff:
        """Returns what changed case by case from the other result (or run id) to this one: `print` tells it."""
        before = other if isinstance(other, str) else other.run_id
        changed = run_sync(partial(self._opened, partial(diff_runs, before=before, after=self.run_id, limit=SHOWN)))
        return ResultDiff.model_construct(**dict(changed))

    def plan(self, effect: float = 0.1, *, power: float = 0.8, trials: int | None = None) -> SamplePlan:
        """The number of cases or trials that find a difference of the scores of that size; `print(plan.summary)` tells it."""
        from minions_evals_mcp.operations.plan_benchmark import Request as PlanRequest  # noqa: PLC0415  few runs ask
        from minions_evals_mcp.operations.plan_benchmark import run as plan_benchmark  # noqa: PLC0415  as above

        request = PlanRequest(benchmark_id=self.name, effect=effect, power=power, trials=trials)
        return run_sync(partial(self._opened, partial(plan_benchmark, request=request)))

    def accept(self, *, by: str = "python") -> None:
        """Takes the run as it is: `fail_on_regression` measures later runs against it, though it fell."""
        run_sync(partial(self._opened, partial(accept_run, run_id=self.run_id, by=by)))

    def report(self, path: Path | str) -> Path:
        """Writes the report; the ending says the form: .html, .md, .xml (JUnit), .json, .csv."""
        file = Path(path)
        run_sync(partial(self._opened, partial(_report, run_id=self.run_id, file=file)))
        return file

    def to_pandas(self) -> pd.DataFrame:
        """The cases as a data frame, a row for each trial; raises `BadInputError` where pandas is not installed."""
        try:
            import pandas as pd  # noqa: PLC0415  the user's, where it is
        except ImportError:
            raise BadInputError("pandas is not installed.", remedy="pip install pandas") from None
        return pd.DataFrame([_row(case) for case in self.cases])

    def __repr__(self) -> str:
        from minions_evals_mcp.evaluation.shown import short_line  # noqa: PLC0415  rich is imported where a person looks

        return f"<{short_line(self)}>"

    def __str__(self) -> str:
        from minions_evals_mcp.evaluation.shown import text_of  # noqa: PLC0415  rich is imported where a person looks

        return text_of(self)

    def _repr_html_(self) -> str:
        from minions_evals_mcp.evaluation.shown import html_of  # noqa: PLC0415  as above

        return html_of(self)

    async def _opened(self, work: Callable[[Engine], Awaitable[T]]) -> T:
        async with open_engine(self.asked.config) as engine:
            with ungrouped():
                return await work(engine)

    async def _read(self, work: Callable[..., T]) -> T:
        async def reading(engine: Engine) -> T:
            return await engine.store.read(partial(work, job_id=self.run_id))

        return await self._opened(reading)


def _row(result: CaseResult) -> dict[str, Any]:
    calls = None if result.tool_calls is None else [call.tool for call in result.tool_calls]
    inputs = result.inputs if isinstance(result.inputs, dict) else {"input": result.inputs}
    return {
        "id": result.id, "trial": result.trial, **{f"inputs.{key}": value for key, value in inputs.items()},
        "expected": result.expected, "output": result.output, "passed": result.passed, "score": result.score, "outcome": result.outcome,
        "reason": result.reason, "latency_ms": result.latency_ms, "cost_usd": result.cost_usd, "tool_calls": calls,
        **_columns("checks", result.checks),
    }  # fmt: skip


def _columns(before: str, checks: Mapping[str, CheckResult]) -> dict[str, Any]:
    """The columns of each check, those of its parts after its own."""
    columns: dict[str, Any] = {}
    for name, check in checks.items():
        at = f"{before}.{name}"
        columns |= {
            f"{at}.score": check.score, f"{at}.passed": check.passed, f"{at}.reason": check.reason,
            f"{at}.duration_ms": check.duration_ms, f"{at}.cost_usd": check.cost_usd,
        }  # fmt: skip
        columns |= _columns(at, check.parts)
    return columns


def averages(cases: Iterable[Mapping[str, CheckResult]]) -> dict[str, CheckAverage]:
    """The average of each check over the outputs that it judged."""
    judged: dict[str, list[CheckResult]] = {}
    for checks in cases:
        for name, check in checks.items():
            judged.setdefault(name, []).append(check)
    return {
        name: CheckAverage(
            name,
            fmean(check.score for check in checks),
            None if any(check.passed is None for check in checks) else sum(bool(check.passed) for check in checks),
            len(checks),
        )
        for name, checks in judged.items()
    }


def _cases(db: Db, *, job_id: str) -> list[CaseResult]:
    job = jobs.job(db, job_id)
    assert job is not None
    units = jobs.units(db, job_id, first=0, last=job.total)
    judged = {run.id: run for run in runs.job_runs(db, job_id, limit=job.total)}
    known = records.minions(db, {unit.case_id for unit in units.values()})
    reasons = runs.rationales(db, job_id)
    checks = _checks(db, job_id, [*judged.values()])
    cases: list[CaseResult] = []
    for unit in units.values():
        if unit.outcome is None:
            continue
        run = judged.get(unit.test_run_id or "")
        case = known[unit.case_id]
        assert isinstance(case.fields, TestCase)
        seen = unit.observed
        output: Json | None = run.fields.actual_output if run else seen.output if seen else None
        cases.append(
            CaseResult(
                id=unit.case_id.partition("/")[2] or unit.case_id,
                name=case.title,
                inputs=case.fields.inputs,
                expected=None if case.fields.expected_outputs is None else output_value(case.fields.expected_outputs),
                output=None if output is None else answer_given(output),
                passed=None if run is None else run.fields.passed,
                outcome=unit.outcome,
                score=None if run is None else run.fields.total_score / run.fields.max_possible_score,
                reason=f"waits to be judged ({unit.reason})"
                if unit.outcome == "awaiting-judgments"
                else unit.reason or reasons.get(unit.test_run_id or "", ""),
                trial=unit.key.trial,
                latency_ms=seen.latency_ms if seen else None,
                cost_usd=seen.cost_usd if seen else None,
                tool_calls=seen.tool_calls if seen else None,
                test_run_id=unit.test_run_id,
                checks=checks.get(unit.test_run_id or "", {}),
            )
        )
    return cases


def _checks(db: Db, job_id: str, judged: Sequence[Record[TestRun]]) -> dict[str, dict[str, CheckResult]]:
    """The checks of each test-run by name: its own, else its rubric with the criteria, else what was expected."""
    checks = {run.id: {score.name: _check(score) for score in run.fields.checks} for run in judged}
    bare = {run.id: run.fields for run in judged if not run.fields.checks}
    if not bare:
        return checks
    known = records.minions(db, {run.rubric_id for run in bare.values() if run.rubric_id is not None})
    for run_id, judgments in runs.judgments_in(db, job_id).items():
        if run_id in bare:
            run = bare[run_id]
            name = (
                EXPECTED if run.rubric_id is None else known[run.rubric_id].title if run.rubric_id in known else RUBRIC
            )
            checks[run_id] = {name: _of_judgments(name, run, judgments)}
    return checks


def _check(score: CheckScore) -> CheckResult:
    return CheckResult(
        score.name, score.score, score.passed, score.reason, score.duration_ms, score.cost_usd,
        {part.name: _check(part) for part in score.parts},
    )  # fmt: skip


def _of_judgments(name: str, run: TestRun, judgments: Sequence[runs.NamedJudgment]) -> CheckResult:
    """The whole verdict as one check, a rubric's criteria as its parts."""
    parts = {
        part.name: CheckResult(part.name, part.fraction, None, part.rationale)
        for part in judgments
        if run.rubric_id is not None
    }
    reason = "; ".join(f"{part.name}: {part.rationale}" if parts else part.rationale for part in judgments)
    return CheckResult(name, run.total_score / run.max_possible_score, run.passed, reason, parts=parts)


async def result_of(engine: Engine, run_id: str, limits: ResultOptions, *, problem: str) -> EvaluationResult:
    """The result of a run, beside the whole run of the same name before it, or the last that held where that one fell, too."""
    summary = await summarize(engine, run_id, limit=SHOWN)
    fall = summary.regression or {}
    known = fall.get("previousRunId")
    before = str(known) if known else await engine.store.read(partial(runs.run_before, run_id=run_id))
    result = EvaluationResult(summary, limits, before, problem=problem)
    result.check_means = await engine.store.read(partial(_means, before=before, run_id=run_id))
    if before is None or summary.benchmark_run is None:
        return result
    result.beside = await engine.store.read(
        partial(_beside, before=before, run_id=run_id, broke=result.error_count > 0, fallen="fallenSince" in fall)
    )
    with suppress(BadInputError):  # no case in common: all are new
        result.changes = await diff_runs(engine, before, run_id, limit=SHOWN)
    return result


def _means(db: Db, *, before: str | None, run_id: str) -> tuple[tuple[CheckMean, CheckMean | None], ...]:
    """Each check's average, beside that of the run before."""
    then = {mean.name: mean for mean in check_means(db, before)} if before is not None else {}
    return tuple((mean, then.get(mean.name)) for mean in check_means(db, run_id))


def _beside(db: Db, *, before: str, run_id: str, broke: bool, fallen: bool) -> Shared | None:
    """Both runs as the gate looks at them; None where they were not judged alike."""
    if not same_yardsticks(db, before, run_id):
        return None
    if broke:
        return shared_with_broken(db, before, run_id)
    return shared(db, before, run_id, left_out=fallen)


async def _report(engine: Engine, *, run_id: str, file: Path) -> None:
    from minions_evals_mcp.engine.answers.report_data import find_subject, read_report  # noqa: PLC0415  few runs ask
    from minions_evals_mcp.report.documents.forms import form_of  # noqa: PLC0415  as above
    from minions_evals_mcp.report.writing import written  # noqa: PLC0415  as above

    form = form_of(file)
    report = await read_report(engine, await find_subject(engine, run_id))
    pieces: AsyncIterator[str] = form(engine, report)
    async with aclosing(pieces) as stream:  # pyright: ignore[reportArgumentType]  a generator of the form's
        await written(file, stream)
