"""The parts of the front page: each benchmark's newest runs, what waits, what a run cost, the newest comparisons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from minions_evals_mcp.domain.request_fields import OF_A_CONFIG
from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.config_labels import labels_of
from minions_evals_mcp.store.rows import WHOLE, strings

CONFIG_TARGET = f"json_extract(j.spec, '$.request.target') LIKE '{OF_A_CONFIG}%'"
"""Runs that are columns of an evaluated config."""


@dataclass(frozen=True, slots=True)
class RunPoint:
    """A whole run of a benchmark, with what a list says of it."""

    run_id: str
    at: datetime
    score: float
    score_interval: tuple[float, float] | None
    passed: int
    total: int
    pass_interval: tuple[float, float] | None
    met: bool
    series: str
    is_regression: bool
    evidence: Evidence | None
    version: str | None
    judged_by: tuple[str, ...] = ()
    compared_with: str | None = None
    """The run that it is compared with, where that is not the one before it."""


@dataclass(frozen=True, slots=True)
class ListedBenchmark:
    """A benchmark by name; `configured`: it is the tests of a config."""

    id: str
    title: str
    threshold: float
    configured: bool
    sealed: bool = False


_NEWEST_AT = f"(SELECT max(ran_at) FROM benchmark_run WHERE benchmark_id = m.id AND {WHOLE})"
_ANY_AT = "(SELECT max(ran_at) FROM benchmark_run WHERE benchmark_id = m.id)"
_FELL = (
    f"coalesce((SELECT is_regression FROM benchmark_run WHERE benchmark_id = m.id AND {WHOLE}"
    " ORDER BY ran_at DESC, seq DESC LIMIT 1), 0)"
)


def listed_benchmarks(db: Db, *, skip: int, limit: int) -> list[ListedBenchmark]:
    """The benchmarks: those whose newest run fell first, then those that ran last."""
    rows = db.execute(
        "SELECT m.id, m.title, coalesce(json_extract(m.fields, '$.passingThreshold'), 0),"
        f" {_NEWEST_AT} IS NULL AND {_ANY_AT} IS NOT NULL AND m.id LIKE 'eval/%',"
        " coalesce(json_extract(m.fields, '$.sealed'), 0)"
        " FROM minion m WHERE m.type = 'benchmark' AND m.deleted_at IS NULL"
        f" ORDER BY {_FELL} DESC, {_ANY_AT} DESC, m.seq LIMIT ? OFFSET ?",
        (limit, skip),
    )
    return [
        ListedBenchmark(ident, title, threshold, bool(configured), bool(sealed))
        for ident, title, threshold, configured, sealed in rows
    ]


_POINT = (
    "id, ran_at, overall_score, json_extract(rest, '$.scoreCi'), passed_count, total_count, json_extract(rest, '$.passRateCi'),"
    " json_extract(rest, '$.passed'), series, is_regression, json_extract(rest, '$.evidence'), prompt_version_ref,"
    " json_extract(rest, '$.judgedBy'), json_extract(rest, '$.comparedWith')"
)


def newest_points(db: Db, benchmark_id: str, *, limit: int) -> list[RunPoint]:
    """The benchmark's newest whole runs, oldest first."""
    rows = db.execute(
        f"SELECT {_POINT} FROM benchmark_run WHERE benchmark_id = ? AND {WHOLE} ORDER BY ran_at DESC, seq DESC LIMIT ?",
        (benchmark_id, limit),
    ).fetchall()
    return [_point(*row) for row in reversed(rows)]


def _point(  # noqa: PLR0913, PLR0917  a row's columns
    run_id: str, at: int, score: float, score_ci: str | None, passed: int, total: int, pass_ci: str | None, met: int | None,
    series: str, fell: int, evidence: Evidence | None, version: str | None, judges: str | None, other: str | None,
) -> RunPoint:  # fmt: skip
    return RunPoint(
        run_id, from_millis(at), score, _pair(score_ci), passed, total, _pair(pass_ci), met != 0, series, bool(fell), evidence,
        version, strings(judges), other,
    )  # fmt: skip


def _pair(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, high = json.loads(text)
    return low, high


@dataclass(frozen=True, slots=True)
class ConfigColumn:
    """A column of an evaluated config: one prompt at one provider, in its newest run.

    `provider` is the provider's label, else its id. Several columns may share an id: they differ in their settings.
    """

    run_id: str
    version: str | None
    provider: str
    state: str
    at: datetime
    score: float | None
    passed: int | None
    total: int | None
    pass_interval: tuple[float, float] | None


def config_columns(db: Db, benchmark_id: str) -> list[ConfigColumn]:
    """The newest run of each column of the config, in the order in which the columns were first asked for.

    Where it is noted which columns were evaluated last, those alone: a prompt that was taken out is none any more.
    """
    rows = db.execute(
        "SELECT j.id, j.key, json_extract(j.spec, '$.request.promptVersionRef'), substr(json_extract(j.spec, '$.request.target'), 8),"
        " j.state, j.created_at, b.overall_score, b.passed_count, b.total_count, json_extract(b.rest, '$.passRateCi')"
        f" FROM job j LEFT JOIN benchmark_run b ON b.id = j.id WHERE j.subject_id = ? AND {CONFIG_TARGET}"
        " ORDER BY j.created_at, b.seq",
        (benchmark_id,),
    )
    newest: dict[str, ConfigColumn] = {}
    for run_id, key, version, provider, state, at, score, passed, total, interval in rows:
        column = ConfigColumn(run_id, version, provider, state, from_millis(at), score, passed, total, _pair(interval))
        newest[_measured(key)] = column
    by_run = {column.run_id: column for column in newest.values()}
    last = [
        replace(by_run[run_id], provider=label or by_run[run_id].provider)
        for run_id, label in labels_of(db, benchmark_id)
        if run_id in by_run
    ]
    return last or list(newest.values())


def _measured(key: str) -> str:
    """The digest of all that bears on a column's answers, with which the key of its run ends."""
    return key.rpartition("/")[2]


def run_cost(db: Db, run_id: str) -> float | None:
    """Returns what the outputs and the judging of a run cost in US dollars, as far as it is known."""
    made = db.execute(
        "SELECT sum(rest ->> '$.costUsd') FROM test_run WHERE benchmark_run_id = ?", (run_id,)
    ).fetchone()[0]
    spent = db.execute("SELECT spent ->> '$.costUsd' FROM job WHERE id = ?", (run_id,)).fetchone()
    if spent is not None and spent[0]:
        return max(float(spent[0]), made or 0.0)
    return made


def waiting_by_benchmark(db: Db, benchmark_ids: Sequence[str]) -> dict[str, int]:
    """Returns how many outputs of each wait to be judged."""
    rows = db.execute(
        "SELECT j.subject_id, count(*) FROM unit u JOIN job j ON j.id = u.job_id WHERE u.packet IS NOT NULL"
        " AND u.outcome = 'awaiting-judgments' AND j.subject_id IN (SELECT value FROM json_each(?)) GROUP BY j.subject_id",
        (json.dumps(list(benchmark_ids)),),
    )
    return dict(rows.fetchall())


def newest_comparisons(db: Db, *, limit: int, benchmark_id: str | None = None) -> list[str]:
    """The ids of the newest comparisons, of that benchmark where one is named."""
    rows = db.execute(
        "SELECT id FROM prompt_comparison WHERE ? IS NULL OR benchmark_id = ? ORDER BY seq DESC LIMIT ?",
        (benchmark_id, benchmark_id, limit),
    )
    return [row[0] for row in rows]
