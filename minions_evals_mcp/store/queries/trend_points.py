"""The history that a trend is read from."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime

from minions_evals_mcp.domain.results import Direction, Evidence
from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import WHOLE, strings


@frozen_type
class SeriesRun:
    """One benchmark-run; runs of equal `series` were measured alike.

    `direction` is the reading that was kept with it, None where none was; `new_level`: a level was found to begin with it.
    """

    run_id: str
    at: datetime
    score: float
    series: str
    is_regression: bool
    direction: Direction | None
    new_level: bool
    version: str | None = None
    cost_usd: float | None = None
    judged_by: tuple[str, ...] = ()
    evidence: Evidence | None = None


_RUN = (
    "SELECT b.id, b.ran_at, b.overall_score, b.series, b.is_regression, t.direction, l.run_id IS NOT NULL,"
    " b.prompt_version_ref, (SELECT spent ->> '$.costUsd' FROM job WHERE job.id = b.id), b.judged_by, b.evidence FROM"
    " (SELECT prompt_version_ref, json_extract(rest, '$.judgedBy') AS judged_by, json_extract(rest, '$.evidence') AS evidence,"
    " id, ran_at, overall_score, series, is_regression, seq"
    " FROM benchmark_run"
    f" WHERE benchmark_id = ?1 AND (?2 IS NULL OR series = ?2) AND {WHOLE} ORDER BY ran_at DESC, seq DESC LIMIT ?3) b"
    " LEFT JOIN trend_reading t ON t.run_id = b.id LEFT JOIN level_start l ON l.run_id = b.id ORDER BY b.ran_at, b.seq"
)


def history(db: Db, benchmark_id: str, *, series: str | None = None, limit: int = 1000) -> list[SeriesRun]:
    """The benchmark's newest runs, oldest first, without those of comparisons and of selected cases."""
    rows = db.execute(_RUN, (benchmark_id, series, limit))
    return [
        SeriesRun(
            ident,
            from_millis(at),
            score,
            key,
            bool(fell),
            direction,
            bool(level),
            version,
            cost,
            strings(judges),
            evidence,
        )
        for ident, at, score, key, fell, direction, level, version, cost, judges, evidence in rows
    ]


def marks(db: Db, benchmark_id: str) -> tuple[int, int]:
    """What moves whenever `history` does: the benchmark's newest run of any kind, and how many levels were found in it.

    Runs are never changed or deleted, so these two identify the history.
    """
    row = db.execute(
        "SELECT ifnull((SELECT max(seq) FROM benchmark_run WHERE benchmark_id = ?1), 0),"
        " (SELECT count(*) FROM level_start WHERE benchmark_id = ?1)",
        (benchmark_id,),
    ).fetchone()
    return row[0], row[1]


def of_series(db: Db, series: str, run_ids: Collection[str]) -> list[str]:
    """Those of the runs that are in the series, oldest first."""
    rows = db.execute(
        "SELECT id FROM benchmark_run WHERE id IN (SELECT value FROM json_each(?)) AND series = ? ORDER BY ran_at, seq",
        (json.dumps(sorted(run_ids)), series),
    )
    return [row[0] for row in rows]


def pass_rates(db: Db, run_id: str, *, limit: int) -> list[tuple[int, int]]:
    """The passed and all test-runs of a run and of those before it that were measured alike, the newest first."""
    return db.execute(
        f"SELECT passed_count, total_count FROM benchmark_run WHERE {WHOLE} AND (benchmark_id, series) ="
        " (SELECT benchmark_id, series FROM benchmark_run WHERE id = ?1)"
        " AND seq <= (SELECT seq FROM benchmark_run WHERE id = ?1) ORDER BY seq DESC LIMIT ?2",
        (run_id, limit),
    ).fetchall()


@frozen_type
class SeriesCounts:
    """The number of runs of the newest series, and how many series were there before it."""

    runs: int
    earlier: int


def counts(db: Db, benchmark_id: str, series: str) -> SeriesCounts:
    """The counts of that series and of the others."""
    row = db.execute(
        f"SELECT total(series = ?2), count(DISTINCT series) - 1 FROM benchmark_run WHERE benchmark_id = ?1 AND {WHOLE}",
        (benchmark_id, series),
    ).fetchone()
    return SeriesCounts(int(row[0]), row[1])


def keep_reading(db: Db, run_id: str, direction: Direction) -> None:
    """Keeps how the trend was read when the run was its newest."""
    db.execute("INSERT INTO trend_reading VALUES (?, ?)", (run_id, direction))


def levels(db: Db, benchmark_id: str, series: str) -> list[str]:
    """The runs of the series at which a level was found to begin, oldest first."""
    rows = db.execute(
        "SELECT l.run_id FROM level_start l JOIN benchmark_run b ON b.id = l.run_id"
        " WHERE l.benchmark_id = ? AND l.series = ? ORDER BY b.ran_at, b.seq",
        (benchmark_id, series),
    )
    return [row[0] for row in rows]


def keep_level(db: Db, run_id: str, benchmark_id: str, series: str, *, found_by: str, at: datetime) -> None:
    """Keeps that a level began with the run; once."""
    values = (run_id, benchmark_id, series, found_by, to_millis(at))
    db.execute("INSERT INTO level_start VALUES (?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING", values)
