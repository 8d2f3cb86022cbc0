"""The jobs of a benchmark by kind and state: what has been done with it, whether or not any of it is a run of its own."""

from __future__ import annotations

from dataclasses import dataclass

from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import JobKind


@dataclass(frozen=True, slots=True)
class BenchmarkUses:
    """Counts of ended and open jobs. `newest` is the newest ended comparison or A/B test, with its kind."""

    runs: int
    comparisons: int
    ab_tests: int
    open: int
    unfinished: int
    newest: tuple[str, JobKind] | None


_COUNTS = (
    "SELECT kind, state, count(*) FROM job WHERE subject_id = ?"
    " AND NOT (kind = 'benchmark' AND coalesce(json_extract(spec, '$.request.purpose'), '') = 'comparison') GROUP BY kind, state"
)
_NEWEST = (
    "SELECT id, kind FROM job WHERE subject_id = ? AND state = 'completed' AND kind IN ('comparison', 'ab-test')"
    " ORDER BY created_at DESC, id LIMIT 1"
)
_OPEN = ("running", "awaiting-judgments")


def benchmark_uses(db: Db, benchmark_id: str) -> BenchmarkUses:
    """The jobs of that benchmark; the sides of a comparison count as the one comparison."""
    rows = db.execute(_COUNTS, (benchmark_id,)).fetchall()
    ended = {kind: count for kind, state, count in rows if state == "completed"}
    newest = db.execute(_NEWEST, (benchmark_id,)).fetchone()
    return BenchmarkUses(
        runs=ended.get("benchmark", 0),
        comparisons=ended.get("comparison", 0),
        ab_tests=ended.get("ab-test", 0),
        open=sum(count for _, state, count in rows if state in _OPEN),
        unfinished=sum(count for _, state, count in rows if state != "completed" and state not in _OPEN),
        newest=None if newest is None else (newest[0], newest[1]),
    )
