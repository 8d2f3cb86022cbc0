"""The branches of A/B tests: made, changed, hidden, and read with what their executions add up to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict, Unpack, cast

from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from minions_evals_mcp.domain.definitions import Fields, Json, TestBranch, TestCase
from minions_evals_mcp.domain.records import Record, record_from_wire, wire_fields
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.domain.values import Count, Value
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.branch_consistency import Outputs, consistent, outputs_of
from minions_evals_mcp.engine.records.save_records import Arrival, delete_record, save_records
from minions_evals_mcp.store import branches, records
from minions_evals_mcp.store.connection import Db


class BranchSettings(TypedDict, total=False):
    """The documented fields of a branch, as a Python program names them."""

    test_case_id: str
    name: str
    description: str
    provider: Literal["openai", "anthropic", "gemini"]
    model: str
    temperature: float | None
    max_tokens: int | None
    top_p: float | None
    is_control: bool
    is_active: bool
    other_params: Json


def _given(fields: Mapping[str, JsonValue] | None, settings: Mapping[str, object]) -> Json:
    """The fields by their documented names, however they were given."""
    return {**(fields or {}), **{to_camel(name): cast("JsonValue", value) for name, value in settings.items()}}


async def create_branch(
    engine: Engine,
    fields: Mapping[str, JsonValue] | None = None,
    *,
    branch_id: str | None = None,
    **settings: Unpack[BranchSettings],
) -> Record[TestBranch]:
    """A new branch, and what stands for the settings that it does not give; raises `InvalidRecordError`.

    A test case has at most five. `fields` is the same by the names of a record (`testCaseId`).
    """
    wire: Json = {"type": TestBranch.slug, "fields": _given(fields, settings)}
    record = record_from_wire(wire, new_id=branch_id or engine.new_id(), now=engine.clock())
    return await _saved(engine, record)


async def update_branch(
    engine: Engine, branch_id: str, changes: Mapping[str, JsonValue] | None = None, **settings: Unpack[BranchSettings]
) -> Record[TestBranch]:
    """The branch with those fields changed; one that is set to None is taken out, and its default is sent again."""
    branch = await _branch(engine, branch_id)
    merged = {**wire_fields(branch.fields), **_given(changes, settings)}
    wire: Json = {**branch.wire(), "fields": {name: value for name, value in merged.items() if value is not None}}
    return await _saved(engine, record_from_wire(wire, new_id=branch_id, now=engine.clock()))


async def delete_branch(engine: Engine, branch_id: str) -> Record[TestBranch]:
    """Hides the branch; its executions stay."""
    await _branch(engine, branch_id)
    return cast("Record[TestBranch]", await delete_record(engine, branch_id))


async def _saved(engine: Engine, record: Record[Fields]) -> Record[TestBranch]:
    """The branch as lists of branches show it."""
    await save_records(engine, [Arrival(record)])
    saved = await _branch(engine, record.id)
    figures, outputs = await engine.store.read(lambda db: _with_outputs(db, saved))
    return await consistent(engine, figures, outputs)


async def _branch(engine: Engine, ident: str) -> Record[TestBranch]:
    return await engine.store.read(lambda db: records.require(db, ident, TestBranch))


async def branches_of_case(engine: Engine, test_case_id: str) -> list[Record[TestBranch]]:
    """The branches of a test case with what their executions add up to; what one does not give has its default."""
    await engine.store.read(lambda db: records.require(db, test_case_id, TestCase))
    with_outputs = await engine.store.read(
        lambda db: [_with_outputs(db, record) for record in records.branches_of(db, test_case_id)]
    )
    return [await consistent(engine, record, outputs) for record, outputs in with_outputs]


def _with_outputs(db: Db, branch: Record[TestBranch]) -> tuple[Record[TestBranch], Outputs]:
    """The branch with its figures, and its newest outputs by case, configuration and prompt version."""
    return cast("Record[TestBranch]", branches.with_figures(db, branch)), outputs_of(db, branch.id)


class BranchConfiguration(Value):
    """The sums of a branch's executions under one configuration and prompt version; `errors` of the `runs` failed.

    Figures and the pass rate (0–100) are of those that succeeded.
    """

    configuration: Json | None
    prompt_version: int | None
    runs: Count
    errors: Count
    avg_latency: float | None
    avg_cost: float | None
    avg_quality_score: float | None
    avg_tokens_per_sec: float | None
    pass_rate: float | None


async def branch_configurations(engine: Engine, branch_id: str) -> list[BranchConfiguration]:
    """The branch's figures under each configuration and version that it ran with, the newest first."""
    await _branch(engine, branch_id)
    figures = await engine.store.read(lambda db: branches.figures(db, branch_id))
    return [
        BranchConfiguration(
            configuration=made.configuration,
            prompt_version=made.prompt_version,
            runs=made.total_runs,
            errors=made.errors,
            avg_latency=made.latency_ms,
            avg_cost=made.cost_usd,
            avg_quality_score=made.quality,
            avg_tokens_per_sec=made.tokens_per_second,
            pass_rate=made.pass_rate,
        )
        for made in figures
    ]


async def branch_executions(
    engine: Engine, branch_id: str, *, limit: int = 20, offset: int = 0
) -> list[Record[TestBranchExecution]]:
    """A page of the branch's executions, the newest first; raises `NotFoundError`."""
    await _branch(engine, branch_id)
    return await engine.store.read(lambda db: branches.executions_of(db, branch_id, limit=limit, offset=offset))
