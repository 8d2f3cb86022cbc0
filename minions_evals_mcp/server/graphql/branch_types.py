"""Types of the testing API that show branches, their executions and A/B tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import strawberry
from strawberry.scalars import JSON

from minions_evals_mcp.domain.definitions import TestBranch as BranchFields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution as ExecutionFields
from minions_evals_mcp.engine.ab_test.results import AbBranch, AbTestResult, AbWinner
from minions_evals_mcp.server.graphql.case_types import as_json
from minions_evals_mcp.stats.intervals import Bounds


@strawberry.type
class TestBranch:
    """A model configuration of an A/B test; a parameter that was not given is null, and is not sent."""

    id: strawberry.ID
    test_case_id: strawberry.ID
    name: str
    description: str | None
    provider: str = strawberry.field(description="As in PROVIDER:MODEL.")
    model: str
    temperature: float | None
    max_tokens: int | None
    top_p: float | None
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


@strawberry.type
class TestBranchExecution:
    """One output of one branch; `estimatedCost` is null where the model's price is unknown, `output` where it failed."""

    id: strawberry.ID
    branch_id: strawberry.ID
    execution_id: strawberry.ID | None
    output: str | None
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


INTERVAL = "At 95 %, over the cases, or over the iterations of a single one."


@strawberry.type
class ABTestBranch:
    """A branch of an A/B test with its rank; the figures are means over its executions that succeeded."""

    branch_id: strawberry.ID
    branch_name: str
    model: str
    execution: TestBranchExecution | None
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
    is_supported: bool | None = strawberry.field(description="Whether the winner leads by more than chance.")
    note: str


def shown_branch(record: Record[BranchFields]) -> TestBranch:
    """Shows a branch with what its executions add up to."""
    fields = record.fields
    return TestBranch(
        id=strawberry.ID(record.id),
        test_case_id=strawberry.ID(fields.test_case_id),
        name=fields.name,
        description=fields.description or None,
        provider=fields.provider,
        model=fields.model,
        temperature=fields.temperature,
        max_tokens=fields.max_tokens,
        top_p=fields.top_p,
        other_params=as_json(fields.other_params),
        is_control=fields.is_control,
        is_active=fields.is_active,
        total_runs=fields.total_runs,
        avg_latency=fields.avg_latency,
        avg_cost=fields.avg_cost,
        avg_quality_score=fields.avg_quality_score,
        avg_tokens_per_sec=fields.avg_tokens_per_sec,
        consistency_score=fields.consistency_score,
        pass_rate=fields.pass_rate,
        created_at=record.created_at,
        updated_at=record.updated_at,
    )


def shown_branch_execution(record: Record[ExecutionFields]) -> TestBranchExecution:
    """Shows one execution of a branch."""
    fields = record.fields
    return TestBranchExecution(
        id=strawberry.ID(record.id),
        branch_id=strawberry.ID(fields.branch_id),
        execution_id=None if fields.execution_id is None else strawberry.ID(fields.execution_id),
        output=fields.output if fields.status == "success" else None,
        error=fields.error,
        status=fields.status,
        latency_ms=fields.latency_ms,
        time_to_first_token=fields.time_to_first_token,
        tokens_per_second=fields.tokens_per_second,
        input_tokens=fields.input_tokens,
        output_tokens=fields.output_tokens,
        total_tokens=fields.total_tokens,
        estimated_cost=fields.estimated_cost,
        quality_score=fields.quality_score,
        similarity_score=fields.similarity_score,
        clarity_score=fields.clarity_score,
        valid_json=fields.valid_json,
        consistency_hash=fields.consistency_hash,
        prompt_version=fields.prompt_version,
        created_at=record.created_at,
    )


def shown_ab_test(result: AbTestResult, newest: Mapping[str, Record[ExecutionFields]]) -> ABTestResult:
    """Shows an A/B test, its branches by rank, each with its newest execution (by branch)."""
    return ABTestResult(
        branches=[_ranked(branch, newest.get(branch.branch_id)) for branch in result.branches],
        winner=None if result.winner is None else _winner(result.winner),
        criteria=result.criteria,
        run_id=strawberry.ID(result.run_id),
        is_supported=result.supported,
        note=result.note,
    )


def _ranked(branch: AbBranch, newest: Record[ExecutionFields] | None) -> ABTestBranch:
    return ABTestBranch(
        branch_id=strawberry.ID(branch.branch_id),
        branch_name=branch.branch_name,
        model=branch.model,
        execution=None if newest is None else shown_branch_execution(newest),
        quality_score=branch.quality_score,
        latency_ms=branch.latency_ms,
        estimated_cost=branch.estimated_cost,
        tokens_per_second=branch.tokens_per_second,
        rank=branch.rank,
        pass_rate=branch.pass_rate,
        pass_rate_interval=_ends(branch.pass_rate_interval),
        quality_interval=_ends(branch.quality_interval),
        latency_interval=_ends(branch.latency_interval),
        cost_interval=_ends(branch.cost_interval),
    )


def _ends(interval: Bounds | None) -> list[float] | None:
    return None if interval is None else [*interval]


def _winner(winner: AbWinner) -> ABTestWinner:
    return ABTestWinner(
        branch_id=strawberry.ID(winner.branch_id),
        branch_name=winner.branch_name,
        model=winner.model,
        quality_score=winner.quality_score,
        latency_ms=winner.latency_ms,
        estimated_cost=winner.estimated_cost,
    )
