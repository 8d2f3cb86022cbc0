"""The executions of A/B tests' branches, and what they add up to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps, loads

from minions_evals_mcp.domain.definitions import Fields, Json, TestBranch
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.scoring.ab import PASSING_QUALITY, SLACK
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import record_of, select, table_of

_TABLE = table_of(TestBranchExecution)


def executions(db: Db, idents: Iterable[str]) -> dict[str, Record[TestBranchExecution]]:
    """The executions under those ids, as far as they were made."""
    rows = db.execute(select(_TABLE, "id IN (SELECT value FROM json_each(?))"), (dumps(list(idents)),))
    return {execution.id: execution for execution in map(_execution, rows)}


def executions_of(db: Db, branch_id: str, *, limit: int, offset: int = 0) -> list[Record[TestBranchExecution]]:
    """A page of a branch's executions, the newest first."""
    where = "branch_id = ? ORDER BY seq DESC LIMIT ? OFFSET ?"
    return [_execution(row) for row in db.execute(select(_TABLE, where), (branch_id, limit, offset))]


def _execution(row: tuple[object, ...]) -> Record[TestBranchExecution]:
    return record_of(_TABLE, row)


@dataclass(frozen=True, slots=True)
class BranchFigures:
    """The figures of a branch's executions under one configuration and prompt version; None where none has the figure.

    Figures and the pass rate (0–100) are those of executions that succeeded; `errors` of the `total_runs` did not.
    """

    configuration: Json | None
    prompt_version: int | None
    total_runs: int
    errors: int
    latency_ms: float | None
    cost_usd: float | None
    quality: float | None
    tokens_per_second: float | None
    pass_rate: float | None


_NONE = BranchFigures(None, None, 0, 0, None, None, None, None, None)
_OF_SUCCESS = "avg(iif(status = 'success', rest ->> '{}', NULL))"
_FIGURES = (
    "SELECT max(rest ->> '$.configuration'), rest ->> '$.promptVersion' AS version, count(*), total(status <> 'success'),"
    f" {_OF_SUCCESS.format('$.latencyMs')}, {_OF_SUCCESS.format('$.estimatedCost')}, {_OF_SUCCESS.format('$.qualityScore')},"
    f" {_OF_SUCCESS.format('$.tokensPerSecond')},"
    " avg(iif(status = 'success', 100.0 * ((rest ->> '$.qualityScore') >= ?), NULL)) FROM test_branch_execution"
    " WHERE branch_id = ? GROUP BY rest ->> '$.configurationDigest', version ORDER BY max(seq) DESC"
)


def figures(db: Db, branch_id: str) -> list[BranchFigures]:
    """The figures of a branch under each configuration and version that it ran with, the newest first."""
    rows = db.execute(_FIGURES, (PASSING_QUALITY - SLACK, branch_id))
    return [
        BranchFigures(None if configured is None else loads(configured), version, total, int(errors), *rest)
        for configured, version, total, errors, *rest in rows
    ]


def with_figures(db: Db, record: Record[Fields]) -> Record[Fields]:
    """A test-branch with what its executions add up to, which is kept on their side only; any other record as it is.

    They are those under the configuration and the version that it ran with last: figures are never pooled over two.
    """
    if not isinstance(record.fields, TestBranch):
        return record
    newest = next(iter(figures(db, record.id)), _NONE)
    with_rates = {
        "total_runs": newest.total_runs,
        "error_count": newest.errors,
        "avg_latency": newest.latency_ms,
        "avg_cost": newest.cost_usd,
        "avg_quality_score": newest.quality,
        "avg_tokens_per_sec": newest.tokens_per_second,
        "pass_rate": newest.pass_rate,
        "consistency_score": None,
    }
    return record.touched(record.fields.model_copy(update=with_rates), record.updated_at)
