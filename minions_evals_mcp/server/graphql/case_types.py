"""Types of the testing API that show test cases, their executions and their figures."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

import strawberry
from strawberry.scalars import JSON

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.cases import test_history as history
from minions_evals_mcp.errors import BadInputError


def field_of(value: object, name: str) -> object:
    """A field of an engine's value under the name that it has here, too; of a record, that of its fields before its own."""
    if isinstance(value, Record):
        record = cast("Record[Fields]", value)
        value = record.fields if name in type(record.fields).model_fields else record
    return getattr(value, name)


def description_of(root: strawberry.Parent[Any]) -> str | None:
    """The description of a test case or of a branch, null where there is none."""
    return str(field_of(root, "description")) or None


@strawberry.type
class Prompt:
    """The prompt that a test case tests: its chain of versions, named after the newest."""

    id: strawberry.ID
    name: str


@strawberry.type
class PromptVersion:
    """One version of a prompt."""

    id: strawberry.ID
    prompt_id: strawberry.ID
    version_number: int
    content: str
    changelog: str
    description: str
    created_at: datetime


@strawberry.type
class TestCase:
    """A test case with its figures; `passRate` is 0–100, `avgScore` 0–1, both null before its first run."""

    id: strawberry.ID
    prompt_id: strawberry.ID
    name: str
    description: str | None = strawberry.field(resolver=description_of)
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


def of_prompt(case: history.TestCaseSummary) -> history.TestCaseSummary:
    """The test case; raises `BadInputError` for one that belongs to no prompt."""
    if case.prompt_id is None:
        raise BadInputError(
            f"test-case {case.id} belongs to no prompt, and this API shows only the test cases of prompts.",
            remedy="Give it a promptId, or read it at the command line or over MCP.",
        )
    return case


def _diff(root: strawberry.Parent[history.TestCaseExecution]) -> JSON | None:
    parts = root.output_diff
    return None if parts is None else cast("JSON", [part.model_dump(mode="json") for part in parts])


WARNINGS = "Differences that similarity does not detect: numbers, dates, negation."


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
    output_diff: JSON | None = strawberry.field(resolver=_diff)
    exact_match: bool
    semantic_score: float | None
    warnings: list[str] = strawberry.field(description=WARNINGS)
    length_diff: int | None
    token_diff: int | None
    is_regression: bool
    regression_type: str | None = strawberry.field(
        description="The most severe of FAILED, SCORE_DROP and LENGTH_CHANGE."
    )
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
    output_diff: JSON | None = strawberry.field(resolver=_diff)
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
