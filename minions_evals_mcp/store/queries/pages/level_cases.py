"""The cases of a benchmark over spans of its runs: how often each passed, which of its runs failed, what the runs cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import WHOLE


@dataclass(frozen=True, slots=True)
class CaseShare:
    """The share of runs that a case passed, and the newest of its test-runs there that failed."""

    passed: int
    runs: int
    failed_run: str | None


def shares(db: Db, run_ids: Sequence[str]) -> dict[str, CaseShare]:
    """Each case's passes over those benchmark-runs."""
    rows = db.execute(
        "SELECT test_case_id, sum(passed), count(*), max(iif(passed, NULL, seq)) FROM test_run"
        " WHERE benchmark_run_id IN (SELECT value FROM json_each(?)) GROUP BY test_case_id",
        (json.dumps(list(run_ids)),),
    ).fetchall()
    seqs = json.dumps([row[3] for row in rows if row[3] is not None])
    ids = dict(
        db.execute("SELECT seq, id FROM test_run WHERE seq IN (SELECT value FROM json_each(?))", (seqs,)).fetchall()
    )
    return {case: CaseShare(passed, count, ids.get(failed)) for case, passed, count, failed in rows}


@dataclass(frozen=True, slots=True)
class CaseRun:
    """One run of a case: whether it passed, and what it was measured with (case, version, target, judge)."""

    benchmark_run_id: str
    passed: bool
    measured: str


def newest_runs(db: Db, benchmark_id: str, case_id: str, *, limit: int) -> list[CaseRun]:
    """The case's newest runs within whole runs of the benchmark, oldest first."""
    rows = db.execute(
        "SELECT benchmark_run_id, passed, json_array(rest ->> '$.digests.testCase', rest ->> '$.digests.promptVersion',"
        " prompt_version_ref, rest ->> '$.digests.target', rest ->> '$.digests.judge') FROM test_run"
        " WHERE test_case_id = ? AND trial = 1 AND benchmark_run_id IN (SELECT id FROM benchmark_run WHERE benchmark_id = ?"
        f" AND {WHOLE}) ORDER BY seq DESC LIMIT ?",
        (case_id, benchmark_id, limit),
    ).fetchall()
    return [CaseRun(run, bool(passed), measured) for run, passed, measured in reversed(rows)]


@dataclass(frozen=True, slots=True)
class RunCosts:
    """The cost of runs: US dollars and tokens of their outputs (null where no output says), the mean latency in ms."""

    cost_usd: float | None
    tokens: int | None
    latency_ms: float | None


def spent(db: Db, run_ids: Sequence[str]) -> RunCosts:
    """The cost of the outputs of those benchmark-runs."""
    row = db.execute(
        "SELECT sum(rest ->> '$.costUsd'), sum(coalesce(rest ->> '$.inputTokens', 0) + coalesce(rest ->> '$.outputTokens', 0)),"
        " avg(rest ->> '$.latencyMs') FROM test_run WHERE benchmark_run_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(run_ids)),),
    ).fetchone()
    return RunCosts(row[0], row[1] or None, row[2])


def judged_usd(db: Db, run_ids: Sequence[str]) -> float:
    """Returns what the jobs of those runs spent themselves, on judges and on the target."""
    row = db.execute(
        "SELECT total(spent ->> '$.costUsd') FROM job WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(run_ids)),),
    ).fetchone()
    return row[0]
