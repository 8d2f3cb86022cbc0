"""Test cases and their runs as the testing API shows them: summaries, executions, statistics, and the trend by day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field, JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import DiffPart, RegressionType, TestRun
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.likeness import with_likeness
from minions_evals_mcp.engine.version_chain import LATEST, cases_of_prompt, find_version, prompt_of_case
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.scoring.verdicts.history import score_fraction
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import case_history

DAYS = 90
"""So many of the newest days stand in a trend."""


class NamedPrompt(Value):
    """A prompt: the chain's id, and the title of its latest version."""

    id: str
    name: str


class TestCaseSummary(Value):
    """A test case with its figures; `passRate` is 0–100, `avgScore` 0–1, both null before its first run."""

    __test__: ClassVar[bool] = False

    id: str
    prompt_id: str | None
    prompt: NamedPrompt | None = None
    name: str
    description: str
    input: dict[str, JsonValue]
    expected_output: str | None
    total_runs: int
    pass_rate: float | None
    avg_score: float | None
    last_run: Timestamp | None
    last_passed: bool | None
    created_at: Timestamp
    updated_at: Timestamp


class TestCaseExecution(Value):
    """A run of a test case. `score` is that by which it was judged; an output that waits has none, and has not passed.

    `reason` is what its checks and judges found.
    """

    __test__: ClassVar[bool] = False

    id: str
    test_case_execution_id: str
    test_case_id: str
    execution_id: str
    passed: bool | None
    score: float | None
    reason: str = ""
    actual_output: str
    expected_output: str | None
    output_diff: Annotated[tuple[DiffPart, ...], Field(strict=False)] | None = None
    exact_match: bool = False
    semantic_score: float | None = None
    length_diff: int | None = None
    token_diff: int | None = None
    warnings: Annotated[tuple[str, ...], Field(strict=False)] = ()
    is_regression: bool = False
    regression_type: RegressionType | None = None
    regression_types: Annotated[tuple[RegressionType, ...], Field(strict=False)] = ()
    flipped: bool = False
    prompt_version: int | None = None
    run_duration: int | None = None
    latency_ms: float | None = None
    cost_usd: float | None = None
    created_at: Timestamp


class Executions(Value):
    """A page of runs, newest first; `nextCursor` goes on from it, null at the end."""

    executions: Annotated[tuple[TestCaseExecution, ...], Field(strict=False)]
    total: int
    next_cursor: int | None


class CaseRunLine(Value):
    """A run in one line."""

    id: str
    passed: bool
    score: float
    regression_type: RegressionType | None
    prompt_version: int | None
    cost_usd: float | None = None
    created_at: Timestamp


class DayFigures(Value):
    """The runs of one day (UTC)."""

    date: str
    total_runs: int
    pass_rate: float
    avg_score: float


class TestCaseStats(Value):
    """The figures of a case's runs; comparisons, later trials and errors are not among them."""

    __test__: ClassVar[bool] = False

    test_case_id: str
    total_runs: int
    pass_rate: float | None
    avg_score: float | None
    recent_runs: Annotated[tuple[CaseRunLine, ...], Field(strict=False)]
    regressions: Annotated[tuple[CaseRunLine, ...], Field(strict=False)]
    trend_data: Annotated[tuple[DayFigures, ...], Field(strict=False)]


async def test_case(engine: Engine, test_case_id: str) -> TestCaseSummary:
    """The case with its figures and its prompt; raises `NotFoundError`."""
    return await engine.store.read(lambda db: _with_prompt(db, [_summary(db, case_record(db, test_case_id))])[0])


async def test_cases(engine: Engine, prompt_id: str) -> list[TestCaseSummary]:
    """The cases of a prompt that are not deleted, in the order in which they were made."""
    return await engine.store.read(
        lambda db: _with_prompt(db, [_summary(db, case) for case in cases_of_prompt(db, prompt_id)])
    )


async def test_cases_of_skill(engine: Engine, skill_id: str) -> list[TestCaseSummary]:
    """The cases that name the skill and are not deleted, in the order in which they were made."""
    return await engine.store.read(
        lambda db: [_summary(db, case) for case in case_history.cases_of_skill(db, skill_id)]
    )


class CasesFigures(Value):
    """The figures of several cases together: each of their runs counts once. `passRate` is 0–100, `avgScore` 0–1."""

    cases: int
    total_runs: int
    pass_rate: float | None
    avg_score: float | None


def figures_of(summaries: Sequence[TestCaseSummary]) -> CasesFigures:
    """The figures of those cases together."""
    ran = [case for case in summaries if case.total_runs]
    runs = sum(case.total_runs for case in ran)

    def mean(of: Callable[[TestCaseSummary], float | None]) -> float | None:
        return sum((of(case) or 0.0) * case.total_runs for case in ran) / runs if runs else None

    return CasesFigures(
        cases=len(summaries), total_runs=runs, pass_rate=mean(lambda case: case.pass_rate),
        avg_score=mean(lambda case: case.avg_score),
    )  # fmt: skip


async def test_case_executions(
    engine: Engine, test_case_id: str, *, limit: int = 20, offset: int = 0, cursor: int | None = None
) -> Executions:
    """A page of all runs of the case, newest first: after so many (`offset`), or from a page's `nextCursor` on."""
    case, page, total, reasons = await engine.store.read(
        partial(_executions, test_case_id=test_case_id, limit=limit, offset=offset, cursor=cursor)
    )
    shown = await with_likeness(engine, [run for _, run in page[:limit]])
    return Executions(
        executions=tuple(execution_of(run, case, reasons.get(run.id, "")) for run in shown),
        total=total,
        next_cursor=page[limit - 1][0] if len(page) > limit else None,
    )


async def test_case_stats(engine: Engine, test_case_id: str, *, limit: int = 10) -> TestCaseStats:
    """The figures of the case with its newest runs and regressions (at most `limit` each), and its trend by day."""
    return await engine.store.read(lambda db: _stats(db, test_case_id, limit))


def case_record(db: Db, test_case_id: str) -> Record[TestCase]:
    """The test case under that id; raises `NotFoundError`, also for one that is deleted."""
    return records.require(db, test_case_id, TestCase, hidden=False)


def execution_of(run: Record[TestRun], case: Record[TestCase], reason: str) -> TestCaseExecution:
    """The run as the testing API shows it, judged for that reason.

    What was expected then is read from the difference, for the case may have changed.
    """
    fields = run.fields
    diff = fields.output_diff
    then = None if diff is None else "".join(part.text for part in diff if part.op != "insert")
    return TestCaseExecution(
        id=run.id,
        test_case_execution_id=run.id,
        test_case_id=fields.test_case_id,
        execution_id=fields.execution_id or fields.agent_run_id or run.id,
        passed=fields.passed,
        score=score_fraction(fields.total_score, fields.max_possible_score),
        reason=reason,
        actual_output=output_text(fields.actual_output) if fields.actual_output else "",
        expected_output=expected_text(case.fields) if then is None else then,
        output_diff=diff,
        exact_match=bool(fields.exact_match),
        semantic_score=fields.semantic_score,
        length_diff=fields.length_diff,
        token_diff=fields.token_diff,
        warnings=fields.warnings,
        is_regression=fields.is_regression,
        regression_type=fields.regression_type,
        regression_types=fields.regression_types,
        flipped=fields.flipped,
        prompt_version=fields.prompt_version,
        run_duration=fields.duration_ms,
        latency_ms=fields.latency_ms,
        cost_usd=fields.cost_usd,
        created_at=run.created_at,
    )


def expected_text(case: TestCase) -> str | None:
    """Returns what the case expects, as text."""
    return output_text(case.expected_outputs) if case.expected_outputs else None


def _summary(db: Db, case: Record[TestCase]) -> TestCaseSummary:
    fields = case.fields
    figures = case_history.figures(db, case.id)
    newest = case_history.recent(db, case.id, limit=1)
    return TestCaseSummary(
        id=case.id,
        prompt_id=prompt_of_case(db, fields),
        name=fields.name,
        description=fields.description,
        input=fields.inputs,
        expected_output=expected_text(fields),
        total_runs=figures.runs,
        pass_rate=_pass_rate(figures),
        avg_score=figures.average,
        last_run=newest[0].fields.ran_at if newest else None,
        last_passed=newest[0].fields.passed if newest else None,
        created_at=case.created_at,
        updated_at=case.updated_at,
    )


def _with_prompt(db: Db, summaries: list[TestCaseSummary]) -> list[TestCaseSummary]:
    """The summaries of one prompt's cases with its name, where a version of it is recorded."""
    prompt_id = summaries[0].prompt_id if summaries else None
    if prompt_id is None:
        return summaries
    with suppress(NotFoundError):
        prompt = NamedPrompt(id=prompt_id, name=find_version(db, LATEST, prompt=prompt_id).title)
        return [summary.model_copy(update={"prompt": prompt}) for summary in summaries]
    return summaries


def _pass_rate(figures: case_history.CaseFigures) -> float | None:
    return 100 * figures.passed / figures.runs if figures.runs else None


def _executions(
    db: Db, *, test_case_id: str, limit: int, offset: int, cursor: int | None
) -> tuple[Record[TestCase], list[tuple[int, Record[TestRun]]], int, dict[str, str]]:
    """The case, one run more than the page has, each with its cursor, how many there are in all, and why they were so judged."""
    case = case_record(db, test_case_id)
    page = case_history.executions(db, test_case_id, before=cursor, offset=offset, limit=limit + 1)
    reasons = runs.rationales_of(db, [run.id for _, run in page])
    return case, page, case_history.count(db, test_case_id), reasons


def _stats(db: Db, test_case_id: str, limit: int) -> TestCaseStats:
    case_record(db, test_case_id)
    figures = case_history.figures(db, test_case_id)
    return TestCaseStats(
        test_case_id=test_case_id,
        total_runs=figures.runs,
        pass_rate=_pass_rate(figures),
        avg_score=figures.average,
        recent_runs=tuple(_line(run) for run in case_history.recent(db, test_case_id, limit=limit)),
        regressions=tuple(_line(run) for run in case_history.recent(db, test_case_id, regressions=True, limit=limit)),
        trend_data=tuple(
            _day(day, figures) for day, figures in case_history.figures_by_day(db, test_case_id, limit=DAYS)
        ),
    )


def _line(run: Record[TestRun]) -> CaseRunLine:
    fields = run.fields
    return CaseRunLine(
        id=run.id,
        passed=fields.passed,
        score=score_fraction(fields.total_score, fields.max_possible_score),
        regression_type=fields.regression_type,
        prompt_version=fields.prompt_version,
        cost_usd=fields.cost_usd,
        created_at=run.created_at,
    )


def _day(date: str, figures: case_history.CaseFigures) -> DayFigures:
    assert figures.average is not None, "a day without runs is no day of the trend"
    return DayFigures(
        date=date, total_runs=figures.runs, pass_rate=100 * figures.passed / figures.runs, avg_score=figures.average
    )
