"""The parts of reports: a run's units in brief, all of a few units at once, and a benchmark's history."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import JsonValue
from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.results import Evidence, Outcome
from minions_evals_mcp.domain.values import Value, from_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import WHOLE, strings

Place = tuple[int, int]
"""A unit of a job: its position and trial."""


@frozen_type
class UnitLine:
    """A unit in brief. `fraction` is the share of the points it reached, None without a verdict; `size` counts bytes."""

    place: Place
    case_id: str
    passed: bool | None
    fraction: float | None
    size: int


def unit_lines(db: Db, job_id: str) -> list[UnitLine]:
    """Every unit of the job that has ended or waits: the failed first by score, then those without a verdict."""
    rows = db.execute(
        "SELECT u.position, u.trial, u.case_id, r.passed, r.total_score / r.max_possible_score AS part,"
        " coalesce(octet_length(r.rest), 0) + coalesce(octet_length(u.output), 0) + coalesce(octet_length(m.fields), 0)"
        " + coalesce(octet_length(a.fields), 0)"
        " FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id LEFT JOIN minion m ON m.id = u.case_id"
        " LEFT JOIN minion a ON a.id = r.agent_run_id"
        " WHERE u.job_id = ? AND u.outcome IS NOT NULL"
        " ORDER BY CASE r.passed WHEN 0 THEN 0 WHEN 1 THEN 2 ELSE 1 END, part, u.position, u.trial",
        (job_id,),
    )
    return [
        UnitLine((position, trial), case_id, None if passed is None else bool(passed), fraction, size)
        for position, trial, case_id, passed, fraction, size in rows
    ]


def passed_in(db: Db, run_id: str) -> set[tuple[str, int]]:
    """The cases, with their trials, that passed in that benchmark-run."""
    rows = db.execute("SELECT test_case_id, trial FROM test_run WHERE benchmark_run_id = ? AND passed", (run_id,))
    return set(rows.fetchall())


def trials_by_case(db: Db, run_id: str) -> list[tuple[int, int, str]]:
    """How many trials of each case of that benchmark-run were judged, how many passed, and its group; a case without one is its own."""
    rows = db.execute(
        "SELECT count(*), sum(passed), coalesce(min(rest ->> '$.group'), test_case_id) FROM test_run WHERE benchmark_run_id = ?"
        " GROUP BY test_case_id",
        (run_id,),
    )
    return rows.fetchall()


def tally(db: Db, job_id: str) -> tuple[int, int]:
    """Returns how many of the job's test-runs passed, and how many there are."""
    row = db.execute(
        "SELECT coalesce(sum(passed), 0), count(*) FROM test_run WHERE id IN (SELECT test_run_id FROM unit WHERE job_id = ?)",
        (job_id,),
    ).fetchone()
    return row[0], row[1]


class CriterionScore(Value):
    """One criterion's score for one test-run, and why."""

    criterion_id: str
    score: float
    min_score: float
    max_score: float
    rationale: str
    judged_by: str
    judged_by_type: str
    confidence: float | None


@frozen_type
class UnitDetail:
    """All of a unit that a report tells. `run` and `observed` are as kept (JSON); `edited` says that the case changed since."""

    place: Place
    case_id: str
    title: str
    outcome: Outcome
    reason: str
    test_run_id: str | None
    passed: bool | None
    score: float | None
    possible: float | None
    run: Json
    observed: Json
    inputs: Json
    expected: Json | None
    edited: bool
    tool_calls: list[JsonValue]
    agent_run_id: str | None
    failure: Json
    judgments: list[CriterionScore]
    metrics: dict[str, float]


_DETAIL = (
    "SELECT u.position, u.trial, u.case_id, coalesce(m.title, u.case_id), u.outcome, u.reason, r.id, r.passed, r.total_score,"
    " r.max_possible_score, r.rest, u.output, json_extract(m.fields, '$.inputs'), json_extract(m.fields, '$.expectedOutputs'),"
    " m.updated_at > r.ran_at, json_extract(a.fields, '$.toolCallsLog'), r.agent_run_id, f.failure_type, f.severity, f.rest"
    " FROM json_each(?) p CROSS JOIN unit u ON u.job_id = ? AND u.position = p.value ->> 0 AND u.trial = p.value ->> 1"
    " LEFT JOIN test_run r ON r.id = u.test_run_id LEFT JOIN minion m ON m.id = u.case_id"
    " LEFT JOIN minion a ON a.id = r.agent_run_id LEFT JOIN eval_failure f ON f.id = r.id || ':failure' ORDER BY p.key"
)


def unit_details(db: Db, job_id: str, places: Sequence[Place]) -> list[UnitDetail]:
    """Those units in the order of `places`."""
    rows = db.execute(_DETAIL, (json.dumps(places), job_id)).fetchall()
    run_ids = json.dumps([row[6] for row in rows if row[6] is not None])
    judged, measured = _judgments(db, run_ids), _metrics(db, run_ids)
    return [_detail(row, judged.get(row[6], []), measured.get(row[6], {})) for row in rows]


def _detail(row: tuple[Any, ...], judgments: list[CriterionScore], metrics: dict[str, float]) -> UnitDetail:
    position, trial, case_id, title, outcome, reason, run_id, passed, score, possible, *rest = row
    run, observed, inputs, expected, edited, calls, agent_run_id, failure_type, severity, failure = rest
    return UnitDetail(
        place=(position, trial),
        case_id=case_id,
        title=title,
        outcome=outcome,
        reason=reason,
        test_run_id=run_id,
        passed=None if passed is None else bool(passed),
        score=score,
        possible=possible,
        run=_json(run) or {},
        observed=_json(observed) or {},
        inputs=_json(inputs) or {},
        expected=_json(expected),
        edited=bool(edited),
        tool_calls=_json(calls) or [],
        agent_run_id=agent_run_id,
        failure={**(_json(failure) or {}), "failureType": failure_type, "severity": severity} if failure_type else {},
        judgments=judgments,
        metrics=metrics,
    )


def _json(text: str | None) -> Any:
    return None if text is None else from_json(text)


def _judgments(db: Db, run_ids: str) -> dict[str, list[CriterionScore]]:
    rows = db.execute(
        "SELECT test_run_id, criterion_id, score, min_score, max_score, rationale, judged_by, judged_by_type, confidence"
        " FROM eval_judgment WHERE test_run_id IN (SELECT value FROM json_each(?)) ORDER BY seq",
        (run_ids,),
    )
    judgments: dict[str, list[CriterionScore]] = {}
    for run_id, criterion, score, least, most, rationale, by, by_type, confidence in rows:
        judged = CriterionScore(
            criterion_id=criterion, score=score, min_score=least, max_score=most, rationale=rationale, judged_by=by,
            judged_by_type=by_type, confidence=confidence,
        )  # fmt: skip
        judgments.setdefault(run_id, []).append(judged)
    return judgments


def _metrics(db: Db, run_ids: str) -> dict[str, dict[str, float]]:
    rows = db.execute(
        "SELECT test_run_id, name, score FROM metric_score WHERE test_run_id IN (SELECT value FROM json_each(?))",
        (run_ids,),
    )
    metrics: dict[str, dict[str, float]] = {}
    for run_id, name, score in rows:
        metrics.setdefault(run_id, {})[name] = score
    return metrics


@frozen_type
class HistoryPoint:
    """One benchmark-run in its benchmark's history. Equal `series` were measured alike."""

    run_id: str
    at: datetime
    score: float
    interval: tuple[float, float] | None
    passed: int
    total: int
    series: str
    is_regression: bool
    version: str | None
    judged_by: tuple[str, ...] = ()
    evidence: Evidence | None = None


def history(db: Db, benchmark_id: str, *, limit: int) -> list[HistoryPoint]:
    """The newest whole runs of the benchmark, oldest first."""
    rows = db.execute(
        "SELECT id, ran_at, overall_score, json_extract(rest, '$.scoreCi'), passed_count, total_count, series, is_regression,"
        " prompt_version_ref, json_extract(rest, '$.judgedBy'), json_extract(rest, '$.evidence') FROM benchmark_run"
        f" WHERE benchmark_id = ? AND {WHOLE} ORDER BY ran_at DESC, seq DESC LIMIT ?",
        (benchmark_id, limit),
    ).fetchall()
    return [
        HistoryPoint(
            ident, from_millis(at), score, _json(interval), passed, total, series, bool(regression), version, strings(judges),
            evidence,
        )
        for ident, at, score, interval, passed, total, series, regression, version, judges, evidence in reversed(rows)
    ]  # fmt: skip


def newest_run(db: Db, benchmark_id: str) -> str | None:
    """The id of the benchmark's newest whole run; of a comparison or of selected cases only where there is no other."""
    for whole in (True, False):
        row = db.execute(
            f"SELECT id FROM benchmark_run WHERE benchmark_id = ?1 AND (NOT ?2 OR ({WHOLE}))"
            " ORDER BY ran_at DESC, seq DESC LIMIT 1",
            (benchmark_id, whole),
        ).fetchone()
        if row is not None:
            return row[0]
    return None


def titles(db: Db, idents: Sequence[str]) -> dict[str, str]:
    """The titles of those records, hidden ones too."""
    rows = db.execute(
        "SELECT id, title FROM minion WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(idents)),)
    )
    return dict(rows.fetchall())


def outputs(db: Db, run_id: str, case_ids: Sequence[str]) -> dict[str, Json]:
    """Returns what each of those cases' first trial put out in that run."""
    rows = db.execute(
        "SELECT test_case_id, json_extract(rest, '$.actualOutput') FROM test_run WHERE benchmark_run_id = ?"
        " AND test_case_id IN (SELECT value FROM json_each(?)) ORDER BY trial DESC, seq DESC",
        (run_id, json.dumps(list(case_ids))),
    )
    return {case_id: json.loads(output) for case_id, output in rows}


def world_outputs(db: Db, *, job_id: str, case_id: str | None, most: int) -> list[tuple[str, int, int | None, str]]:
    """Case, trial, verdict and output of the job's units that acted on a world, in their order."""
    return db.execute(
        "SELECT u.case_id, u.trial, r.passed, u.output FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id"
        " WHERE u.job_id = ? AND (? IS NULL OR u.case_id = ?) AND json_extract(u.output, '$.world') IS NOT NULL"
        " ORDER BY u.position, u.trial LIMIT ?",
        (job_id, case_id, case_id, most),
    ).fetchall()
