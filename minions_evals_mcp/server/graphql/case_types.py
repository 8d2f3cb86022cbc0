"""Types of the testing API that show test cases, their executions and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast

import strawberry
from pydantic import JsonValue
from strawberry.scalars import JSON

from minions_evals_mcp.engine.cases import test_history as history
from minions_evals_mcp.errors import BadInputError


def as_json(value: JsonValue | Mapping[str, JsonValue]) -> JSON:
    """Marks a value for the JSON scalar, which shows it as it is."""
    return cast("JSON", value)


@strawberry.type
class Prompt:
    """The prompt that a test case tests: its chain of versions, named after the newest."""

    id: strawberry.ID
    name: str


@strawberry.type
class TestCase:
    """A test case with its figures; `passRate` is 0–100, `avgScore` 0–1, both null before its first run."""

    id: strawberry.ID
    prompt_id: strawberry.ID
    name: str
    description: str | None
    input: JSON
    expected_output: str | None
    total_runs: int
    pass_rate: float | None
    avg_score: float | None
    last_run: datetime | None
    last_passed: bool | None
    created_at: datetime
    updated_at: datetime
    prompt: Prompt | None


WARNINGS = "What likeness is blind to and the two texts differ in: numbers, dates, negation."


@strawberry.type
class TestCaseExecution:
    """A run of a test case; `passed`, `score` and `promptVersion` are null where nothing is known of them."""

    id: strawberry.ID
    test_case_id: strawberry.ID
    execution_id: strawberry.ID | None
    passed: bool | None
    score: float | None
    actual_output: str
    expected_output: str | None
    output_diff: JSON | None
    exact_match: bool
    semantic_score: float | None
    warnings: list[str] = strawberry.field(description=WARNINGS)
    length_diff: int | None
    token_diff: int | None
    is_regression: bool
    regression_type: str | None = strawberry.field(description="FAILED, SCORE_DROP or LENGTH_CHANGE, the gravest.")
    prompt_version: int | None
    run_duration: int | None = strawberry.field(description="Milliseconds.")
    created_at: datetime


@strawberry.type
class TestCaseRun:
    """The result of one run of a test case."""

    test_case_execution_id: strawberry.ID
    execution_id: strawberry.ID | None
    passed: bool | None
    score: float | None
    actual_output: str
    expected_output: str | None
    output_diff: JSON | None
    exact_match: bool
    semantic_score: float | None
    warnings: list[str] = strawberry.field(description=WARNINGS)
    length_diff: int | None
    token_diff: int | None
    latency_ms: float | None
    cost_usd: float | None
    is_regression: bool
    regression_type: str | None
    prompt_version: int | None


@strawberry.type
class TestCaseRunLine:
    """A run in one line."""

    id: strawberry.ID
    passed: bool
    score: float
    regression_type: str | None
    prompt_version: int | None
    created_at: datetime


@strawberry.type
class TestCaseTrendPoint:
    """The runs of one day (UTC)."""

    date: str
    total_runs: int
    pass_rate: float
    avg_score: float


@strawberry.type
class TestCaseStats:
    """The figures of a case's runs."""

    total_runs: int
    pass_rate: float | None
    avg_score: float | None
    recent_runs: list[TestCaseRunLine]
    regressions: list[TestCaseRunLine]
    trend_data: list[TestCaseTrendPoint]


def shown_case(case: history.TestCaseSummary) -> TestCase:
    """Shows a test case; raises `BadInputError` for one that belongs to no prompt."""
    if case.prompt_id is None:
        raise BadInputError(
            f"test-case {case.id} belongs to no prompt; this API shows the test cases of prompts.",
            remedy="Give it a promptId, or read it at the command line or over MCP.",
        )
    return TestCase(
        id=strawberry.ID(case.id),
        prompt_id=strawberry.ID(case.prompt_id),
        name=case.name,
        description=case.description or None,
        input=as_json(case.input),
        expected_output=case.expected_output,
        total_runs=case.total_runs,
        pass_rate=case.pass_rate,
        avg_score=case.avg_score,
        last_run=case.last_run,
        last_passed=case.last_passed,
        created_at=case.created_at,
        updated_at=case.updated_at,
        prompt=None if case.prompt is None else Prompt(id=strawberry.ID(case.prompt.id), name=case.prompt.name),
    )


def _diff(execution: history.TestCaseExecution) -> JSON | None:
    parts = execution.output_diff
    return None if parts is None else as_json([part.model_dump(mode="json") for part in parts])


def shown_execution(execution: history.TestCaseExecution) -> TestCaseExecution:
    """Shows a run as a record of the case's history."""
    return TestCaseExecution(
        id=strawberry.ID(execution.id),
        test_case_id=strawberry.ID(execution.test_case_id),
        execution_id=strawberry.ID(execution.execution_id),
        passed=execution.passed,
        score=execution.score,
        actual_output=execution.actual_output,
        expected_output=execution.expected_output,
        output_diff=_diff(execution),
        exact_match=execution.exact_match,
        semantic_score=execution.semantic_score,
        warnings=[*execution.warnings],
        length_diff=execution.length_diff,
        token_diff=execution.token_diff,
        is_regression=execution.is_regression,
        regression_type=execution.regression_type,
        prompt_version=execution.prompt_version,
        run_duration=execution.run_duration,
        created_at=execution.created_at,
    )


def shown_run(execution: history.TestCaseExecution) -> TestCaseRun:
    """Shows a run as the answer to whoever asked for it."""
    return TestCaseRun(
        test_case_execution_id=strawberry.ID(execution.test_case_execution_id),
        execution_id=strawberry.ID(execution.execution_id),
        passed=execution.passed,
        score=execution.score,
        actual_output=execution.actual_output,
        expected_output=execution.expected_output,
        output_diff=_diff(execution),
        exact_match=execution.exact_match,
        semantic_score=execution.semantic_score,
        warnings=[*execution.warnings],
        length_diff=execution.length_diff,
        token_diff=execution.token_diff,
        latency_ms=execution.latency_ms,
        cost_usd=execution.cost_usd,
        is_regression=execution.is_regression,
        regression_type=execution.regression_type,
        prompt_version=execution.prompt_version,
    )


def shown_stats(stats: history.TestCaseStats) -> TestCaseStats:
    """Shows a case's figures."""
    return TestCaseStats(
        total_runs=stats.total_runs,
        pass_rate=stats.pass_rate,
        avg_score=stats.avg_score,
        recent_runs=[_line(run) for run in stats.recent_runs],
        regressions=[_line(run) for run in stats.regressions],
        trend_data=[
            TestCaseTrendPoint(
                date=day.date, total_runs=day.total_runs, pass_rate=day.pass_rate, avg_score=day.avg_score
            )
            for day in stats.trend_data
        ],
    )


def _line(run: history.RunLine) -> TestCaseRunLine:
    return TestCaseRunLine(
        id=strawberry.ID(run.id),
        passed=run.passed,
        score=run.score,
        regression_type=run.regression_type,
        prompt_version=run.prompt_version,
        created_at=run.created_at,
    )
