"""Types of the testing API that show branches, their executions and A/B tests."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import strawberry
from strawberry.scalars import JSON

from minions_evals_mcp.domain.definitions import MAX_TOKENS
from minions_evals_mcp.domain.definitions import TestBranch as BranchFields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution as ExecutionFields
from minions_evals_mcp.engine.ab_test.results import AbBranch
from minions_evals_mcp.engine.records.save_records import get_record
from minions_evals_mcp.server.graphql.case_types import description_of
from minions_evals_mcp.server.graphql.context import Info


def _temperature(root: strawberry.Parent[Record[BranchFields]]) -> float:
    return root.fields.with_defaults().temperature or 0.0


def _max_tokens(root: strawberry.Parent[Record[BranchFields]]) -> int:
    return root.fields.with_defaults().max_tokens or MAX_TOKENS


def _top_p(root: strawberry.Parent[Record[BranchFields]]) -> float:
    return root.fields.with_defaults().top_p or 0.0


@strawberry.type
class TestBranch:
    """A model configuration of an A/B test; a parameter that was not given has its default, as it is sent."""

    id: strawberry.ID
    test_case_id: strawberry.ID
    name: str
    description: str | None = strawberry.field(resolver=description_of)
    provider: str = strawberry.field(description="As in PROVIDER:MODEL.")
    model: str
    temperature: float = strawberry.field(resolver=_temperature)
    max_tokens: int = strawberry.field(resolver=_max_tokens)
    top_p: float = strawberry.field(resolver=_top_p)
    other_params: JSON
    is_control: bool
    is_active: bool
    total_runs: int
    avg_latency: float | None
    avg_cost: float | None
    avg_quality_score: float | None
    avg_tokens_per_sec: float | None
    consistency_score: float | None = strawberry.field(description="0–1; lower is more consistent.")
    pass_rate: float | None = strawberry.field(description="0–100: executions of quality 0.7 or more.")
    created_at: datetime
    updated_at: datetime


def _output(root: strawberry.Parent[Record[ExecutionFields]]) -> str | None:
    return root.fields.output if root.fields.status == "success" else None


@strawberry.type
class TestBranchExecution:
    """One output of one branch; `estimatedCost` is null where the model's price is unknown, `output` where it failed."""

    id: strawberry.ID
    branch_id: strawberry.ID
    execution_id: strawberry.ID | None
    output: str | None = strawberry.field(resolver=_output)
    error: str | None
    status: str = strawberry.field(description="success or error.")
    latency_ms: float
    time_to_first_token: float | None
    tokens_per_second: float | None
    input_tokens: int
    output_tokens: int
    total_tokens: int
    estimated_cost: float | None
    quality_score: float | None
    similarity_score: float | None
    clarity_score: float | None
    valid_json: bool | None
    consistency_hash: str | None
    prompt_version: int | None
    created_at: datetime


async def _newest(root: strawberry.Parent[AbBranch], info: Info) -> Any:
    """The newest execution of the branch in the test."""
    return (
        None
        if root.execution is None
        else await get_record(await info.context.session.engine(), str(root.execution["id"]))
    )


INTERVAL = "At 95 %, over the cases, or over the iterations of a single one."


@strawberry.type
class ABTestBranch:
    """A branch of an A/B test with its rank; the figures are means over its executions that succeeded."""

    branch_id: strawberry.ID
    branch_name: str
    model: str
    execution: TestBranchExecution | None = strawberry.field(resolver=_newest)
    quality_score: float | None
    latency_ms: float | None
    estimated_cost: float | None
    tokens_per_second: float | None
    rank: int
    pass_rate: float | None = strawberry.field(description="0–100: executions of quality 0.7 or more.")
    pass_rate_interval: list[float] | None = strawberry.field(description=INTERVAL)
    quality_interval: list[float] | None = strawberry.field(description=INTERVAL)
    latency_interval: list[float] | None = strawberry.field(description=INTERVAL)
    cost_interval: list[float] | None = strawberry.field(description=INTERVAL)
    checks_passed: int | None = strawberry.field(
        description="Outputs that pass the case's own checks, out of `checked`."
    )
    checked: int


@strawberry.type
class ABTestWinner:
    """The branch of rank 1."""

    branch_id: strawberry.ID
    branch_name: str
    model: str
    quality_score: float | None
    latency_ms: float | None
    estimated_cost: float | None


@strawberry.type
class ABTestResult:
    """The result of an A/B test; no winner where no branch succeeded."""

    branches: list[ABTestBranch]
    winner: ABTestWinner | None
    criteria: str
    run_id: strawberry.ID
    supported: bool | None = strawberry.field(name="isSupported", description="Whether the winner leads significantly.")
    note: str
