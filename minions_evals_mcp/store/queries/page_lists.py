"""What a page lists: benchmarks with their newest run, runs, the cases of a run, causes of failures, the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.values import from_millis
from minions_evals_mcp.store import events
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Told
from minions_evals_mcp.store.rows import WHOLE


@dataclass(frozen=True, slots=True)
class BenchmarkLine:
    """A benchmark and its newest whole run, where it has one."""

    id: str
    title: str
    run_id: str | None
    ran_at: datetime | None
    score: float | None
    passed: int | None
    total: int | None
    is_regression: bool


_NEWEST = f"SELECT x.seq FROM benchmark_run x WHERE x.benchmark_id = m.id AND {WHOLE} ORDER BY x.ran_at DESC, x.seq DESC LIMIT 1"


def benchmark_lines(db: Db, *, skip: int, limit: int) -> list[BenchmarkLine]:
    """The benchmarks, those that ran last first."""
    rows = db.execute(
        "SELECT m.id, m.title, b.id, b.ran_at, b.overall_score, b.passed_count, b.total_count, b.is_regression"
        f" FROM minion m LEFT JOIN benchmark_run b ON b.seq = ({_NEWEST})"
        " WHERE m.type = 'benchmark' AND m.deleted_at IS NULL ORDER BY b.ran_at DESC, m.seq LIMIT ? OFFSET ?",
        (limit, skip),
    )
    return [
        BenchmarkLine(ident, title, run_id, None if at is None else from_millis(at), score, passed, total, bool(fell))
        for ident, title, run_id, at, score, passed, total, fell in rows
    ]


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run, and how many of its units are done: an output that waits to be judged is not."""

    id: str
    kind: str
    subject_id: str
    title: str
    state: str
    reason: str
    done: int
    total: int
    created_at: datetime


_RUN = (
    "SELECT j.id, j.kind, j.subject_id, coalesce(m.title, j.subject_id), j.state, j.reason,"
    " CASE j.state WHEN 'completed' THEN j.total ELSE"
    " (SELECT count(*) FROM unit u WHERE u.job_id = j.id AND u.outcome <> 'awaiting-judgments') END,"
    " j.total, j.created_at FROM job j LEFT JOIN minion m ON m.id = j.subject_id"
)


def run_lines(
    db: Db, *, skip: int, limit: int, states: Sequence[str] = (), subject_id: str | None = None
) -> list[RunLine]:
    """The newest runs first; in those states, and of that subject, where they are given."""
    marks = ", ".join("?" * len(states))
    rows = db.execute(
        f"{_RUN} WHERE {f'j.state IN ({marks})' if states else '1'} AND (? IS NULL OR j.subject_id = ?)"
        " ORDER BY j.created_at DESC, j.id LIMIT ? OFFSET ?",
        (*states, subject_id, subject_id, limit, skip),
    )
    return [
        RunLine(ident, kind, subject, title, state, reason, done, total, from_millis(at))
        for ident, kind, subject, title, state, reason, done, total, at in rows
    ]


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """Which cases of a run are listed; an empty text asks for nothing."""

    status: str = ""
    cause: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case of a run in one line; `score` is the share of its points, None without a verdict."""

    position: int
    trial: int
    case_id: str
    title: str
    outcome: str
    status: str
    score: float | None
    cause: str


_STATUS = "CASE r.passed WHEN 0 THEN 'failed' WHEN 1 THEN 'passed' ELSE 'unscored' END"
_CASES = (
    " FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id LEFT JOIN minion m ON m.id = u.case_id"
    " LEFT JOIN eval_failure f ON f.id = r.id || ':failure'"
    f" WHERE u.job_id = :run AND u.outcome IS NOT NULL AND (:status = '' OR {_STATUS} = :status)"
    " AND (:cause = '' OR f.failure_type = :cause)"
    " AND (:text = '' OR instr(lower(concat(u.case_id, ' ', m.title, ' ', r.rest, ' ', u.output)), lower(:text)) > 0)"
)


def case_lines(db: Db, run_id: str, asked: CaseFilter, *, skip: int, limit: int) -> tuple[list[CaseLine], int]:
    """A page of the cases of a run that fit, the failed ones first by score; and how many fit."""
    values = {"run": run_id, "status": asked.status, "cause": asked.cause, "text": asked.text}
    total = db.execute(f"SELECT count(*){_CASES}", values).fetchone()[0]
    rows = db.execute(
        f"SELECT u.position, u.trial, u.case_id, coalesce(m.title, u.case_id), u.outcome, {_STATUS},"
        f" r.total_score / r.max_possible_score AS part, coalesce(f.failure_type, ''){_CASES}"
        " ORDER BY CASE r.passed WHEN 0 THEN 0 WHEN 1 THEN 2 ELSE 1 END, part, u.position, u.trial LIMIT :limit OFFSET :skip",
        {**values, "limit": limit, "skip": skip},
    )
    return [CaseLine(*row) for row in rows], total


@dataclass(frozen=True, slots=True)
class CauseLine:
    """How often the newest whole run of a benchmark failed for that cause."""

    cause: str
    severity: str
    benchmark_id: str
    title: str
    run_id: str
    cases: int


def cause_lines(db: Db, *, limit: int) -> list[CauseLine]:
    """Why the newest whole run of each benchmark failed, the most frequent first."""
    rows = db.execute(
        "SELECT f.failure_type, min(f.severity), m.id, m.title, b.id, count(*) AS cases"
        f" FROM minion m JOIN benchmark_run b ON b.seq = ({_NEWEST})"
        " JOIN test_run r ON r.benchmark_run_id = b.id JOIN eval_failure f ON f.id = r.id || ':failure'"
        " WHERE m.type = 'benchmark' AND m.deleted_at IS NULL"
        " GROUP BY f.failure_type, m.id ORDER BY sum(count(*)) OVER (PARTITION BY f.failure_type) DESC, f.failure_type, cases DESC LIMIT ?",
        (limit,),
    )
    return [CauseLine(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Sent:
    """A row of the outbox, and how far it is on its way; no state where nobody has looked at it yet."""

    told: Told
    state: str
    reason: str


def sent_lines(db: Db, *, before: int, limit: int) -> list[Sent]:
    """The newest rows of the outbox first, from before that one."""
    rows = db.execute(
        "SELECT o.seq, coalesce(d.state, ''), coalesce(d.reason, '') FROM outbox o LEFT JOIN delivery d USING (seq)"
        " WHERE o.seq < ? ORDER BY o.seq DESC LIMIT ?",
        (before, limit),
    ).fetchall()
    return [
        Sent(told, state, reason) for seq, state, reason in rows for told in events.outbox(db, after=seq - 1, limit=1)
    ]
