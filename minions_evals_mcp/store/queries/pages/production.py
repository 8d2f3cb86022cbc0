"""Production traces and their verdicts, a row for each, and those that still wait."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import OF_TRACES

_AGENT = "coalesce(k.agent_id, j.spec ->> '$.request.triggeredBy', '')"
_RUBRIC = "coalesce(r.rest ->> '$.rubricId', c.fields ->> '$.rubricId')"
_ROW = (
    f"SELECT j.id, r.id, j.created_at, {_AGENT}, {_RUBRIC}, j.subject_id, coalesce(c.title, j.subject_id),"
    " coalesce(r.prompt_version_ref, k.prompt_version_ref), a.tags,"
    " coalesce(a.fields ->> '$.extra.models', (SELECT json_group_array(key) FROM json_each(a.fields, '$.extra.usage'))), r.passed,"
    " r.rest ->> '$.group', coalesce(j.spent ->> '$.costUsd', 0) + coalesce(r.rest ->> '$.costUsd', 0), f.failure_type,"
    " j.state"
    " FROM job j LEFT JOIN unit u ON u.job_id = j.id LEFT JOIN test_run r ON r.id = u.test_run_id"
    " LEFT JOIN agent_run_key k ON k.id = r.agent_run_id LEFT JOIN minion a ON a.id = r.agent_run_id"
    " LEFT JOIN minion c ON c.id = j.subject_id LEFT JOIN eval_failure f ON f.id = r.id || ':failure'"
)


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """One trace that was judged, or could not be (`passed` is None); `cost_usd` is the agent's and the judge's."""

    run_id: str
    test_run_id: str | None
    at: datetime
    agent_id: str
    rubric_id: str | None
    case_id: str
    title: str
    version: str | None
    tags: tuple[str, ...]
    models: tuple[str, ...]
    passed: bool | None
    group: str | None
    cost_usd: float
    cause: str | None
    is_open: bool


def judged_traces(db: Db, since: datetime) -> list[JudgedTrace]:
    """The traces whose judging began since then, the oldest first."""
    rows = db.execute(
        f"{_ROW} WHERE {OF_TRACES} AND j.created_at >= ? ORDER BY j.created_at, j.id", (to_millis(since),)
    )
    return [
        JudgedTrace(
            run_id, test_run_id, from_millis(at), agent, rubric, case, title, version, _texts(tags), _texts(models),
            None if passed is None else bool(passed), group, float(cost), cause, state in {"running", "awaiting-judgments", "stopped"},
        )
        for run_id, test_run_id, at, agent, rubric, case, title, version, tags, models, passed, group, cost, cause, state in rows
    ]  # fmt: skip


def _texts(stored: str | None) -> tuple[str, ...]:
    return () if stored is None else tuple(json.loads(stored))


def has_judged_traces(db: Db) -> bool:
    """Whether any trace was ever judged."""
    return db.execute(f"SELECT 1 FROM job j WHERE {OF_TRACES} LIMIT 1").fetchone() is not None


def count_judged_traces(db: Db) -> int:
    """The number of runs that judged a trace."""
    return int(db.execute(f"SELECT count(*) FROM job j WHERE {OF_TRACES}").fetchone()[0])


def count_waiting_traces(db: Db) -> int:
    """The number of traces that came and are not judged yet."""
    query = "SELECT count(*) FROM inbox WHERE state = 'pending' AND type = 'agent-run-completed'"
    return int(db.execute(query).fetchone()[0])


def failure_reasons(db: Db, test_run_ids: list[str]) -> dict[str, str]:
    """The first line of the reason of each of those failed test-runs."""
    rows = db.execute(
        "SELECT f.test_run_id, coalesce(nullif(f.rest ->> '$.description', ''), f.failure_type) FROM eval_failure f"
        " WHERE f.test_run_id IN (SELECT value FROM json_each(?)) AND f.id = f.test_run_id || ':failure'",
        (json.dumps(test_run_ids),),
    )
    return {ident: reason.partition("\n")[0] for ident, reason in rows}


@dataclass(frozen=True, slots=True)
class TraceTotal:
    """All traces of an agent judged by a rubric since the store began."""

    agent_id: str
    rubric_id: str | None
    judged: int
    passed: int
    unscored: int
    cost_usd: float


_ALL = (
    " FROM job j LEFT JOIN unit u ON u.job_id = j.id LEFT JOIN test_run r ON r.id = u.test_run_id"
    " LEFT JOIN agent_run_key k ON k.id = r.agent_run_id LEFT JOIN minion c ON c.id = j.subject_id"
)


def trace_totals(db: Db) -> list[TraceTotal]:
    """The totals by agent and rubric."""
    rows = db.execute(
        f"SELECT {_AGENT} AS agent, {_RUBRIC} AS rubric, count(r.id), total(r.passed),"
        " total(r.id IS NULL AND j.state NOT IN ('running', 'awaiting-judgments', 'stopped')),"
        " total(coalesce(j.spent ->> '$.costUsd', 0) + coalesce(r.rest ->> '$.costUsd', 0))"
        f"{_ALL} WHERE {OF_TRACES} GROUP BY agent, rubric ORDER BY agent, rubric"
    )
    return [
        TraceTotal(agent, rubric, judged, int(passed), int(lost), cost)
        for agent, rubric, judged, passed, lost, cost in rows
    ]


def trace_causes(db: Db) -> list[tuple[str, str | None, str, int]]:
    """Agent, rubric, cause and the number of traces that failed by it."""
    return db.execute(
        f"SELECT {_AGENT} AS agent, {_RUBRIC} AS rubric, f.failure_type AS cause, count(*)"
        f"{_ALL} JOIN eval_failure f ON f.id = r.id || ':failure'"
        f" WHERE {OF_TRACES} GROUP BY agent, rubric, cause ORDER BY agent, rubric, cause"
    ).fetchall()
