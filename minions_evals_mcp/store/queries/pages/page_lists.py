"""The lists of a page: runs, causes of failures, the outbox."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from minions_evals_mcp.domain.request_fields import OF_A_CONFIG
from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store import events
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import OutboxRow
from minions_evals_mcp.store.jobs import OF_TRACES
from minions_evals_mcp.store.queries.pages.case_strip import unit_of
from minions_evals_mcp.store.queries.pages.run_terms import ANYWHERE, TEXTS, RunTerm
from minions_evals_mcp.store.rows import WHOLE

_NEWEST = f"SELECT x.seq FROM benchmark_run x WHERE x.benchmark_id = m.id AND {WHOLE} ORDER BY x.ran_at DESC, x.seq DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class PageRunLine:
    """A run, and how many of its units are done: an output that waits to be judged is not. `purpose` is `rejudge` for outputs of
    another run that were judged anew.
    """

    id: str
    kind: str
    subject_id: str
    title: str
    state: str
    reason: str
    done: int
    total: int
    created_at: datetime
    purpose: str
    version: str
    passed: int | None
    judged: int | None
    score: float | None
    is_regression: bool
    target: str = ""
    asked_by: str = ""
    judge: str = ""
    cost_usd: float | None = None
    ended_at: datetime | None = None


_RUN = (
    "SELECT j.id, j.kind, j.subject_id, coalesce(m.title, j.subject_id), j.state, j.reason,"
    " CASE j.state WHEN 'completed' THEN j.total ELSE"
    " (SELECT count(*) FROM unit u WHERE u.job_id = j.id AND u.outcome <> 'awaiting-judgments') END,"
    " j.total, j.created_at, iif(json_extract(j.spec, '$.request.rejudgeRunId') IS NULL,"
    " coalesce(json_extract(j.spec, '$.request.purpose'), ''), 'rejudge'),"
    " coalesce(json_extract(j.spec, '$.request.promptVersionRef'), ''), b.passed_count, b.total_count, b.overall_score,"
    " coalesce(b.is_regression, 0), coalesce(json_extract(j.spec, '$.request.target'), ''),"
    " coalesce(json_extract(j.spec, '$.request.triggeredBy'), ''), coalesce(json_extract(j.spec, '$.judgeModel'), ''),"
    " j.spent ->> '$.costUsd', j.updated_at"
    " FROM job j LEFT JOIN minion m ON m.id = j.subject_id LEFT JOIN benchmark_run b ON b.id = j.id"
)


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are listed: of those states, that subject, kind, version and target, with that text, and for which all terms hold.

    `of_traces`: only those that judge production traces, or only the others.
    """

    states: Sequence[str] = ()
    subject_id: str | None = None
    kind: str = ""
    text: str = ""
    version: str = ""
    target: str = ""
    terms: tuple[RunTerm, ...] = ()
    of_traces: bool | None = None


ALL_RUNS = RunFilter()
_FROM = " FROM job j LEFT JOIN minion m ON m.id = j.subject_id LEFT JOIN benchmark_run b ON b.id = j.id"
FACETS = {
    "of": "j.subject_id", "version": TEXTS["version"], "target": TEXTS["target"], "kind": "j.kind", "state": "j.state",
}  # fmt: skip
"""What a list of runs is narrowed by, and the SQL of its values."""
MOST_VALUES = 40


def run_lines(db: Db, *, skip: int, limit: int, only: RunFilter = ALL_RUNS) -> list[PageRunLine]:
    """The newest runs that fit, the newest first."""
    where, parameters = _where(only)
    rows = db.execute(f"{_RUN}{where} ORDER BY j.created_at DESC, j.id LIMIT ? OFFSET ?", (*parameters, limit, skip))
    return [_run_line(*row) for row in rows]


def count_runs(db: Db, only: RunFilter = ALL_RUNS) -> int:
    """The number of runs that fit."""
    where, parameters = _where(only)
    return db.execute(f"SELECT count(*){_FROM}{where}", parameters).fetchone()[0]


def run_facets(db: Db, *, only: RunFilter) -> dict[str, list[tuple[str, str, int]]]:
    """For each facet its values with their names and numbers of runs, were nothing else chosen of it; the most frequent first."""
    return {facet: _values(db, facet, only) for facet in FACETS}


def _values(db: Db, facet: str, only: RunFilter) -> list[tuple[str, str, int]]:
    open_ = {"of": "subject_id", "state": "states"}.get(facet, facet)
    where, parameters = _where(replace(only, **{open_: getattr(ALL_RUNS, open_)}))
    name = "coalesce(m.title, j.subject_id)" if facet == "of" else FACETS[facet]
    rows = db.execute(
        f"SELECT {FACETS[facet]} AS value, max({name}), count(*) AS runs{_FROM}{where} GROUP BY value HAVING value <> ''"
        " ORDER BY runs DESC, value LIMIT ?",
        (*parameters, MOST_VALUES),
    )
    return [(value, title, runs) for value, title, runs in rows]


def _where(only: RunFilter) -> tuple[str, tuple[str | float, ...]]:
    terms = list(only.terms)
    if only.states:
        terms.append(RunTerm("j.state IN (SELECT value FROM json_each(?))", (json.dumps([*only.states]),)))
    asked = (("of", only.subject_id), ("kind", only.kind), ("version", only.version), ("target", only.target))
    terms += [RunTerm(f"{FACETS[facet]} = ?", (value,)) for facet, value in asked if value]
    if only.text:
        terms.append(RunTerm(f"instr(lower({ANYWHERE}), ?) > 0", (only.text.lower(),)))
    if only.of_traces is not None:
        terms.append(RunTerm(OF_TRACES if only.of_traces else f"NOT ({OF_TRACES})", ()))
    if not terms:
        return "", ()
    return " WHERE " + " AND ".join(term.sql for term in terms), tuple(one for term in terms for one in term.parameters)


def in_order(db: Db, *, idents: Sequence[str]) -> list[str]:
    """Those of the runs that are there, the earliest first."""
    rows = db.execute(
        "SELECT id FROM job WHERE id IN (SELECT value FROM json_each(?)) ORDER BY created_at, id",
        (json.dumps([*idents]),),
    )
    return [row[0] for row in rows]


def _run_line(*row: Any) -> PageRunLine:
    *head, at, purpose, version, passed, judged, score, fell, target, asked_by, judge, cost, ended = row
    made_by = target.removeprefix(OF_A_CONFIG)
    rest = (purpose, version, passed, judged, score, bool(fell), made_by, asked_by, judge, cost)
    return PageRunLine(*head, from_millis(at), *rest, from_millis(ended))  # pyright: ignore[reportCallIssue]  a row's columns


@dataclass(frozen=True, slots=True)
class CauseLine:
    """The number of failures of a benchmark's newest whole run for that cause."""

    cause: str
    severity: str
    benchmark_id: str
    title: str
    run_id: str
    cases: int


def cause_lines(db: Db, *, limit: int) -> list[CauseLine]:
    """Returns why the newest whole run of each benchmark failed, the most frequent first."""
    rows = db.execute(
        "SELECT f.failure_type, min(f.severity), m.id, m.title, b.id, count(*) AS cases"
        f" FROM minion m JOIN benchmark_run b ON b.seq = ({_NEWEST})"
        " JOIN test_run r ON r.benchmark_run_id = b.id JOIN eval_failure f ON f.id = r.id || ':failure'"
        " WHERE m.type = 'benchmark' AND m.deleted_at IS NULL"
        " GROUP BY f.failure_type, m.id ORDER BY sum(count(*)) OVER (PARTITION BY f.failure_type) DESC, f.failure_type, cases DESC LIMIT ?",
        (limit,),
    )
    return [CauseLine(*row) for row in rows]


def has_run(db: Db) -> bool:
    """Returns whether any benchmark has a whole run of its own; the columns of a config are none."""
    query = f"SELECT 1 FROM minion m WHERE m.type = 'benchmark' AND m.deleted_at IS NULL AND EXISTS ({_NEWEST})"
    return db.execute(f"{query} LIMIT 1").fetchone() is not None


@dataclass(frozen=True, slots=True)
class Example:
    """A case that failed for a cause in the newest run of its benchmark."""

    cause: str
    run_id: str
    place: str
    title: str
    description: str


def cause_examples(db: Db, *, each: int) -> dict[str, list[Example]]:
    """So many cases for each cause, those with the lowest scores first."""
    rows = db.execute(
        "SELECT n.cause, n.run_id, n.place, coalesce(c.title, n.case_id), coalesce(nullif(f.rest ->> '$.rootCause', ''),"
        " f.rest ->> '$.description') FROM (SELECT f.failure_type AS cause, b.id AS run_id, r.id AS place, f.seq AS failure,"
        " r.test_case_id AS case_id, row_number() OVER (PARTITION BY f.failure_type"
        " ORDER BY r.total_score / r.max_possible_score, r.seq) AS nth"
        f" FROM minion m JOIN benchmark_run b ON b.seq = ({_NEWEST})"
        " JOIN test_run r ON r.benchmark_run_id = b.id JOIN eval_failure f ON f.id = r.id || ':failure'"
        " WHERE m.type = 'benchmark' AND m.deleted_at IS NULL) n JOIN eval_failure f ON f.seq = n.failure"
        " LEFT JOIN minion c ON c.id = n.case_id WHERE n.nth <= ? ORDER BY n.cause, n.nth",
        (each,),
    )
    examples: dict[str, list[Example]] = {}
    for cause, run_id, test_run, *rest in rows:
        _, (position, trial) = unit_of(test_run)
        examples.setdefault(cause, []).append(Example(cause, run_id, f"{position}.{trial}", *rest))
    return examples


@dataclass(frozen=True, slots=True)
class OutboxLine:
    """A row of the outbox, and how far it is on its way; no state where nobody has looked at it yet."""

    told: OutboxRow
    state: str
    reason: str

    @property
    def is_alert(self) -> bool:
        """Returns whether somebody has to act: it could not be delivered, or tells of a regression or of something critical."""
        fields = self.told.record.fields.model_dump(mode="json")
        return (
            self.state == "refused"
            or "regression" in str(fields.get("type", ""))
            or fields.get("priority") == "critical"
        )


def sent_lines(db: Db, *, before: int, limit: int) -> list[OutboxLine]:
    """The newest rows of the outbox first, from before that one."""
    rows = db.execute(
        "SELECT o.seq, coalesce(d.state, ''), coalesce(d.reason, '') FROM outbox o LEFT JOIN delivery d USING (seq)"
        " WHERE o.seq < ? ORDER BY o.seq DESC LIMIT ?",
        (before, limit),
    ).fetchall()
    return [
        OutboxLine(letter, state, reason)
        for seq, state, reason in rows
        for letter in events.outbox(db, after=seq - 1, limit=1)
    ]
