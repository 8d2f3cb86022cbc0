"""The history that a trend is read from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import WHOLE


@dataclass(frozen=True, slots=True)
class SeriesRun:
    """One benchmark-run; runs of equal `series` were measured alike."""

    run_id: str
    at: datetime
    score: float
    series: str
    is_regression: bool


def history(db: Db, benchmark_id: str, *, limit: int = 1000) -> list[SeriesRun]:
    """The benchmark's newest runs, oldest first, without those of comparisons and of selected cases."""
    rows = db.execute(
        "SELECT id, ran_at, overall_score, series, is_regression FROM (SELECT id, ran_at, overall_score, series,"
        f" is_regression, seq FROM benchmark_run WHERE benchmark_id = ? AND {WHOLE}"
        " ORDER BY ran_at DESC, seq DESC LIMIT ?) ORDER BY ran_at, seq",
        (benchmark_id, limit),
    )
    return [SeriesRun(ident, from_millis(at), score, key, bool(fell)) for ident, at, score, key, fell in rows]
