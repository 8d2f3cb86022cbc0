"""The cases of a run as a table: filtered, sorted, a page at a time, beside the run before."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from minions_evals_mcp.store.connection import Db

Sort = Literal["", "score", "case", "cost", "time", "place"]
SORTS: tuple[Sort, ...] = ("", "score", "case", "cost", "time", "place")


TAGS = "json_each(CASE m.tags WHEN '[]' THEN coalesce(m.fields -> '$.tags', '[]') ELSE m.tags END)"
"""The tags of the case m: its record's, else those of its fields."""


INPUTS = "(SELECT substr(group_concat(i.key || ': ' || i.value, ', '), 1, 300) FROM json_each(m.fields, '$.inputs') i)"
"""What the case m asks, as a line."""


EXPECTED = (
    "substr(coalesce(m.fields ->> '$.expectedOutputs.output',"
    " (SELECT group_concat(i.key || ': ' || i.value, ', ') FROM json_each(m.fields, '$.expectedOutputs') i)), 1, 300)"
)
"""What the case m expects, as a line."""


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """The choice of a run's cases to list, and in what order; an empty text asks for nothing.

    `status` may also be "newly-failing" or "newly-passing", beside the run `before`.
    """

    status: str = ""
    cause: str = ""
    tag: str = ""
    text: str = ""
    sort: Sort = ""
    falling: bool = False


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case of a run in one line; `score` is the share of its points, None without a verdict; `was` that of the run before."""

    position: int
    trial: int
    case_id: str
    title: str
    outcome: str
    status: str
    change: str
    score: float | None
    was: float | None
    cause: str
    output: str
    cost_usd: float | None
    latency_ms: float | None
    asked: str | None
    """The beginning of its inputs."""
    expected: str | None
    """The beginning of what it expects, as it is now."""
    test_run_id: str | None


_STATUS = "CASE r.passed WHEN 0 THEN 'failed' WHEN 1 THEN 'passed' ELSE 'unscored' END"
_CHANGE = "CASE WHEN r.passed = 0 AND o.passed = 1 THEN 'newly-failing' WHEN r.passed = 1 AND o.passed = 0 THEN 'newly-passing' ELSE '' END"
_OLD = "WITH o AS MATERIALIZED (SELECT test_case_id, trial, passed FROM test_run WHERE benchmark_run_id = :before)"
_FROM = (
    " FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id"
    " LEFT JOIN o ON o.test_case_id = u.case_id AND o.trial = u.trial{joins}"
    " WHERE u.job_id = :run AND u.outcome IS NOT NULL"
)
_ORDERS: dict[Sort, str] = {
    "": "CASE WHEN r.passed = 0 AND o.passed = 1 THEN 0 WHEN r.passed = 0 THEN 1 WHEN r.passed IS NULL THEN 2"
    " WHEN o.passed = 0 THEN 3 ELSE 4 END",
    "score": "r.total_score / r.max_possible_score",
    "case": "m.title COLLATE NOCASE",
    "cost": "r.rest ->> '$.costUsd'",
    "time": "r.rest ->> '$.latencyMs'",
    "place": "u.position",
}
_PLAIN = re.compile(r"[\w .,:;!?()\[\]{}@#$%^&*+=<>|~`'-]+", re.ASCII)
"""Text without a quote, a backslash, a slash or a character beyond ASCII, which JSON may write otherwise."""
_OUTPUT = (
    "coalesce(r.rest ->> '$.actualOutput.output', r.rest -> '$.actualOutput', u.output ->> '$.output.output',"
    " u.output -> '$.output', '')"
)
_DETAIL = (
    "SELECT u.position, u.trial, u.case_id, coalesce(m.title, u.case_id), u.outcome,"
    f" {_STATUS}, {_CHANGE}, r.total_score / r.max_possible_score, o.total_score / o.max_possible_score, coalesce(f.failure_type, ''),"
    f" substr({_OUTPUT}, 1, 300), r.rest ->> '$.costUsd', r.rest ->> '$.latencyMs',"
    f" {INPUTS}, {EXPECTED}, r.id"
    " FROM json_each(:places) p CROSS JOIN unit u ON u.job_id = :run AND u.position = p.value ->> 0 AND u.trial = p.value ->> 1"
    " LEFT JOIN test_run r ON r.id = u.test_run_id"
    " LEFT JOIN test_run o ON o.test_case_id = u.case_id AND o.trial = u.trial AND +o.benchmark_run_id = :before"
    " LEFT JOIN minion m ON m.id = u.case_id LEFT JOIN eval_failure f ON f.id = r.id || ':failure' ORDER BY p.key"
)


def case_lines(
    db: Db, run_id: str, filters: CaseFilter, *, before: str | None = None, skip: int, limit: int
) -> tuple[list[CaseLine], int]:
    """A page of the cases of a run that fit, newly failing ones first unless asked otherwise; and how many fit."""
    values = {
        "run": run_id, "before": before or "", "status": filters.status, "cause": filters.cause, "tag": filters.tag,
        "text": filters.text, "limit": limit, "skip": skip,
    }  # fmt: skip
    where, joins = _conditions(filters)
    order = _ORDERS[filters.sort]
    direction = "DESC" if filters.falling else "ASC"
    rows = db.execute(
        f"{_OLD} SELECT u.position, u.trial, count(*) OVER (){_FROM.format(joins=joins)}{where}"
        f" ORDER BY {order} IS NULL, {order} {direction}, r.total_score / r.max_possible_score, u.position, u.trial"
        " LIMIT :limit OFFSET :skip",
        values,
    ).fetchall()
    places = json.dumps([row[:2] for row in rows])
    read_rows = db.execute(_DETAIL, {"run": run_id, "before": before or "", "places": places})
    return [CaseLine(*row) for row in read_rows], rows[0][2] if rows else 0


@dataclass(frozen=True, slots=True)
class AmongCases:
    """The position of a case among those that fit a filter, from 1, of how many; and its neighbours there."""

    number: int
    of: int
    previous: tuple[int, int] | None
    following: tuple[int, int] | None


def among(
    db: Db, run_id: str, filters: CaseFilter, place: tuple[int, int], *, before: str | None = None
) -> AmongCases | None:
    """The case at that place among the cases of the run that fit, in the order of the table; None where it does not fit."""
    where, joins = _conditions(filters)
    order = _ORDERS[filters.sort]
    direction = "DESC" if filters.falling else "ASC"
    row = db.execute(
        f"{_OLD}, listed AS (SELECT u.position, u.trial, count(*) OVER () AS whole, row_number() OVER w AS number,"
        " lag(u.position) OVER w, lag(u.trial) OVER w, lead(u.position) OVER w, lead(u.trial) OVER w"
        f"{_FROM.format(joins=joins)}{where} WINDOW w AS (ORDER BY {order} IS NULL, {order} {direction},"
        " r.total_score / r.max_possible_score, u.position, u.trial))"
        " SELECT * FROM listed WHERE position = :position AND trial = :trial",
        {
            "run": run_id, "before": before or "", "status": filters.status, "cause": filters.cause, "tag": filters.tag,
            "text": filters.text, "position": place[0], "trial": place[1],
        },
    ).fetchone()  # fmt: skip
    if row is None:
        return None
    _, _, whole, number, position, trial, next_position, next_trial = row
    return AmongCases(
        number,
        whole,
        None if position is None else (position, trial),
        None if next_position is None else (next_position, next_trial),
    )


@dataclass(frozen=True, slots=True)
class Points:
    """The points of an output on a criterion or a named metric, of how much."""

    score: float
    of: float


def points(db: Db, test_run_ids: Sequence[str]) -> dict[str, dict[str, Points]]:
    """The points of each of those test-runs by the name of the criterion or metric; what a case checks itself is left out."""
    rows = db.execute(
        "SELECT j.test_run_id, coalesce(m.title, j.criterion_id), j.score, j.max_score FROM json_each(?1) i"
        " JOIN eval_judgment j ON j.test_run_id = i.value LEFT JOIN minion m ON m.id = j.criterion_id"
        " WHERE j.criterion_id NOT LIKE 'implicit:%' UNION ALL"
        " SELECT s.test_run_id, s.name, s.score, 1.0 FROM json_each(?1) i JOIN metric_score s ON s.test_run_id = i.value",
        (json.dumps(list(test_run_ids)),),
    )
    by_run: dict[str, dict[str, Points]] = {}
    for test_run_id, name, score, of in rows:
        by_run.setdefault(test_run_id, {})[name] = Points(score, of)
    return by_run


def _conditions(filters: CaseFilter) -> tuple[str, str]:
    """Returns what must hold, and the tables that it takes."""
    where, joins = "", ""
    if filters.status in {"newly-failing", "newly-passing"}:
        where += f" AND {_CHANGE} = :status"
    elif filters.status:
        where += f" AND {_STATUS} = :status"
    if filters.cause:
        where += " AND f.failure_type = :cause"
        joins += " LEFT JOIN eval_failure f ON f.id = r.id || ':failure'"
    if filters.tag or filters.text or filters.sort == "case":
        joins += " LEFT JOIN minion m ON m.id = u.case_id"
    if filters.tag:
        where += f" AND EXISTS (SELECT 1 FROM {TAGS} t WHERE t.value = :tag)"
    if filters.text:
        where += f" AND {_found(filters.text)}"
    return where, joins


def _found(text: str) -> str:
    """Whether the case's id and title, or its output, hold the text.

    What JSON never escapes stands in the row as it is, which is looked at first: to read the output out of its JSON takes four
    times as long.
    """
    named = _holds("concat(u.case_id, ' ', m.title)")
    said = _holds(_OUTPUT)
    if _PLAIN.fullmatch(text):
        said = f"{_holds('coalesce(r.rest, u.output)')} AND {said}"
    return f"({named} OR {said})"


def _holds(column: str) -> str:
    return f"instr(lower({column}), lower(:text)) > 0"


@dataclass(frozen=True, slots=True)
class TagLine:
    """The results of the cases that bear a tag."""

    tag: str
    passed: int
    total: int


def tag_lines(db: Db, run_id: str, *, limit: int) -> list[TagLine]:
    """The tags of the run's cases, those of which the largest share failed first."""
    rows = db.execute(
        f"SELECT t.value, sum(r.passed), count(*) FROM test_run r JOIN minion m ON m.id = r.test_case_id, {TAGS} t"
        " WHERE r.benchmark_run_id = ? GROUP BY t.value ORDER BY avg(r.passed), count(*) DESC, t.value LIMIT ?",
        (run_id, limit),
    )
    return [TagLine(*row) for row in rows]


def run_tags(db: Db, run_id: str, *, limit: int) -> list[str]:
    """The tags of the benchmark's cases, by name."""
    rows = db.execute(
        f"SELECT DISTINCT t.value FROM unit u JOIN minion m ON m.id = u.case_id, {TAGS} t WHERE u.job_id = ?"
        " ORDER BY t.value LIMIT ?",
        (run_id, limit),
    )
    return [row[0] for row in rows]


def judge_types(db: Db, run_id: str) -> list[str]:
    """Returns who judged the run's outputs: rule, model or people, the most frequent first."""
    rows = db.execute(
        "SELECT judge_type FROM test_run WHERE benchmark_run_id = ? GROUP BY judge_type ORDER BY count(*) DESC",
        (run_id,),
    )
    return [row[0] for row in rows]


def passed_so_far(db: Db, run_id: str) -> tuple[int, int]:
    """The units of the run that passed, and those that were judged, while it goes on."""
    row = db.execute(
        "SELECT total(t.passed), count(*) FROM unit u JOIN test_run t ON t.id = u.test_run_id WHERE u.job_id = ?",
        (run_id,),
    ).fetchone()
    return int(row[0]), row[1]


def judged_per_second(db: Db, run_id: str, *, newest: int) -> float | None:
    """The pace of the newest judged units; None of fewer than two moments."""
    count, first, last = db.execute(
        "SELECT count(*), min(ran_at), max(ran_at) FROM (SELECT t.ran_at FROM unit u JOIN test_run t ON t.id = u.test_run_id"
        " WHERE u.job_id = ? ORDER BY t.seq DESC LIMIT ?)",
        (run_id, newest),
    ).fetchone()
    return None if count < 2 or last <= first else 1000 * (count - 1) / (last - first)


def beside(db: Db, run_id: str, benchmark_id: str, *, whole: str) -> tuple[str | None, str | None]:
    """The whole runs of the benchmark before and after that one, in the order in which they ran."""
    place = db.execute(
        "SELECT ran_at, seq FROM benchmark_run WHERE id = ? AND benchmark_id = ?", (run_id, benchmark_id)
    ).fetchone()
    before, after = (
        db.execute(
            f"SELECT id FROM benchmark_run WHERE benchmark_id = ?1 AND {whole}"
            f" AND (?2 IS NULL OR (ran_at, seq) {side} (?2, ?3)) ORDER BY ran_at {order}, seq {order} LIMIT 1",
            (benchmark_id, *(place or (None, None))),
        ).fetchone()
        for side, order in (("<", "DESC"), (">", "ASC"))
    )
    return (None if before is None else before[0]), (None if after is None or place is None else after[0])
