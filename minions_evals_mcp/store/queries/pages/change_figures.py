"""The figures beside two runs' scores: what each cost and took, where changed cases stand, and what they have in common."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages.run_cases import TAGS


@dataclass(frozen=True, slots=True)
class AverageUsage:
    """The average cost and time of a run's outputs, as far as it is known, and their tokens."""

    cost_usd: float | None
    latency_ms: float | None
    tokens: float | None


def usage(db: Db, run_id: str) -> AverageUsage:
    """The means over the run's outputs."""
    row = db.execute(
        "SELECT avg(r.rest ->> '$.costUsd'), avg(r.rest ->> '$.latencyMs'),"
        " avg(coalesce((r.rest ->> '$.inputTokens') + (r.rest ->> '$.outputTokens'), a.fields ->> '$.tokensUsed'))"
        " FROM test_run r LEFT JOIN minion a ON a.id = r.agent_run_id WHERE r.benchmark_run_id = ?",
        (run_id,),
    ).fetchone()
    return AverageUsage(*row)


def places(db: Db, run_id: str, case_ids: Sequence[str]) -> dict[str, str]:
    """Returns where those cases stand in the run, as POSITION.TRIAL of their first trial."""
    rows = db.execute(
        "SELECT u.case_id, min(u.position), u.trial FROM unit u WHERE u.job_id = ? AND u.trial = 1"
        " AND u.case_id IN (SELECT value FROM json_each(?)) GROUP BY u.case_id",
        (run_id, json.dumps(list(case_ids))),
    )
    return {case_id: f"{position}.{trial}" for case_id, position, trial in rows}


def causes(db: Db, run_id: str, case_ids: Sequence[str]) -> list[tuple[str, int]]:
    """Returns why those cases failed in the run, the commonest first."""
    rows = db.execute(
        "SELECT f.failure_type, count(*) FROM eval_failure f JOIN test_run r ON r.id = f.test_run_id"
        " WHERE r.benchmark_run_id = ? AND r.test_case_id IN (SELECT value FROM json_each(?)) AND f.id = r.id || ':failure'"
        " GROUP BY 1 ORDER BY 2 DESC, 1",
        (run_id, json.dumps(list(case_ids))),
    )
    return rows.fetchall()


@dataclass(frozen=True, slots=True)
class TagChange:
    """The number of the changed cases that bear a tag."""

    tag: str
    cases: int


def tags(db: Db, case_ids: Sequence[str], *, limit: int = 8) -> list[TagChange]:
    """The tags of those cases, the commonest first."""
    rows = db.execute(
        f"SELECT t.value, count(*) FROM minion m, {TAGS} t WHERE m.id IN (SELECT value FROM json_each(?))"
        " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
        (json.dumps(list(case_ids)), limit),
    )
    return [TagChange(*row) for row in rows]
