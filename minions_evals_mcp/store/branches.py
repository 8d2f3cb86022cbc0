"""The executions of A/B tests' branches, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps

from minions_evals_mcp.domain.definitions import Fields, TestBranch
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.scoring.ab import PASSING_QUALITY, SLACK
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import TABLES, record_of, select

_TABLE = TABLES[TestBranchExecution.slug]


def executions(db: Db, idents: Iterable[str]) -> dict[str, Record[TestBranchExecution]]:
    """The executions under those ids, as far as they were made."""
    rows = db.execute(select(_TABLE, "id IN (SELECT value FROM json_each(?))"), (dumps(list(idents)),))
    return {found.id: found for found in map(_execution, rows)}


def executions_of(db: Db, branch_id: str, *, limit: int, offset: int = 0) -> list[Record[TestBranchExecution]]:
    """A page of a branch's executions, the newest first."""
    where = "branch_id = ? ORDER BY seq DESC LIMIT ? OFFSET ?"
    return [_execution(row) for row in db.execute(select(_TABLE, where), (branch_id, limit, offset))]


def _execution(row: tuple[object, ...]) -> Record[TestBranchExecution]:
    return record_of(_TABLE, row)  # pyright: ignore[reportReturnType]  of that table only


@dataclass(frozen=True, slots=True)
class BranchFigures:
    """What a branch's executions add up to; None where none has the figure.

    Latency and throughput are those of executions that succeeded; every execution that has one counts for cost and
    quality, and for the pass rate (0–100).
    """

    total_runs: int
    latency_ms: float | None
    cost_usd: float | None
    quality: float | None
    tokens_per_second: float | None
    pass_rate: float | None


def figures(db: Db, branch_id: str) -> BranchFigures:
    """What all executions of the branch add up to."""
    row = db.execute(
        "SELECT count(*), avg(iif(status = 'success', rest ->> '$.latencyMs', NULL)), avg(rest ->> '$.estimatedCost'),"
        " avg(rest ->> '$.qualityScore'), avg(iif(status = 'success', rest ->> '$.tokensPerSecond', NULL)),"
        " 100.0 * avg((rest ->> '$.qualityScore') >= ?) FROM test_branch_execution WHERE branch_id = ?",
        (PASSING_QUALITY - SLACK, branch_id),
    ).fetchone()
    return BranchFigures(*row)


def with_figures(db: Db, record: Record[Fields]) -> Record[Fields]:
    """A test-branch with what its executions add up to, which is kept on their side only; any other record as it is."""
    if not isinstance(record.fields, TestBranch):
        return record
    found = figures(db, record.id)
    told = {
        "total_runs": found.total_runs,
        "avg_latency": found.latency_ms,
        "avg_cost": found.cost_usd,
        "avg_quality_score": found.quality,
        "avg_tokens_per_sec": found.tokens_per_second,
        "pass_rate": found.pass_rate,
        "consistency_score": None,
    }
    return record.touched(record.fields.model_copy(update=told), record.updated_at)
