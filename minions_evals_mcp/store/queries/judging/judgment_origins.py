"""The judgments of a run that it did not have made: given before it began, or by whoever produced the output."""

from __future__ import annotations

from typing import NamedTuple

from minions_evals_mcp.store.connection import Db


class JudgmentOrigins(NamedTuple):
    """How many judgments were given before the run began, and how many test-runs judge their own output."""

    reused: int = 0
    own: int = 0


def judgment_origins(db: Db, run_id: str, *, begun: int) -> JudgmentOrigins:
    """Counts of a benchmark-run that began then (milliseconds); rules' judgments are made anew and not counted."""
    (reused,) = db.execute(
        "SELECT count(*) FROM test_run r JOIN eval_judgment j ON j.test_run_id = r.id"
        " WHERE r.benchmark_run_id = ? AND j.judged_by_type <> 'heuristic' AND j.judged_at < ?",
        (run_id, begun),
    ).fetchone()
    (own,) = db.execute(
        "SELECT count(*) FROM test_run WHERE benchmark_run_id = ? AND rest ->> '$.selfJudged'", (run_id,)
    ).fetchone()
    return JudgmentOrigins(reused, own)
