"""The cases of a run as a table: filtered, sorted, a page at a time, beside the run before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

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
_PLAIN = re.compile(r"[\w .,:;!?()\[\]{}@#$%^&*+=<>|~`'-]+", re.ASCII)
"""Text without a quote, a backslash, a slash or a character beyond ASCII, which JSON may write otherwise."""
_WILD, _ESCAPED = re.compile("[%_]"), r"\\\g<0>"
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


Place = tuple[int, int]
"""The position of a unit in its run, and its trial."""


class IndexedCase(NamedTuple):
    """What a unit of a run is chosen and sorted by; `score` is the share of its points, None without a verdict.

    `folded` is the title in small letters, `names` that after the id: what a search looks in.
    """

    position: int
    trial: int
    case_id: str
    title: str | None
    status: str
    change: str
    score: float | None
    cause: str
    folded: str | None = None
    names: str = ""

    @property
    def place(self) -> Place:
        """Where the unit stands in its run."""
        return (self.position, self.trial)


_INDEXED = (
    "WITH o AS MATERIALIZED (SELECT test_case_id, trial, passed FROM test_run WHERE benchmark_run_id = :before)"
    f" SELECT u.position, u.trial, u.case_id, m.title, {_STATUS}, {_CHANGE}, r.total_score / r.max_possible_score,"
    " coalesce(f.failure_type, ''), lower(m.title), lower(u.case_id || ' ' || coalesce(m.title, ''))"
    " FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id LEFT JOIN o ON o.test_case_id = u.case_id AND o.trial = u.trial"
    " LEFT JOIN minion m ON m.id = u.case_id LEFT JOIN eval_failure f ON r.passed = 0 AND f.id = r.id || ':failure'"
    " WHERE u.job_id = :run AND u.outcome IS NOT NULL"
)


def run_index(db: Db, run_id: str, *, before: str | None = None) -> list[IndexedCase]:
    """Every unit of the run that has an outcome, the least score first."""
    rows = db.execute(_INDEXED, {"run": run_id, "before": before or ""})
    return by_score(map(IndexedCase._make, rows))


def by_score(cases: Iterable[IndexedCase]) -> list[IndexedCase]:
    """The cases by their scores and, of one score, as they stand in the run: the order in which ties are listed."""
    return sorted(cases, key=lambda case: (case[6] is not None, case[6] or 0.0, case[0], case[1]))


def run_costs(db: Db, run_id: str) -> dict[Place, tuple[float | None, float | None]]:
    """The dollars and the milliseconds of each unit of the run."""
    rows = db.execute(
        "SELECT u.position, u.trial, r.rest ->> '$.costUsd', r.rest ->> '$.latencyMs' FROM unit u JOIN test_run r ON r.id = u.test_run_id"
        " WHERE u.job_id = ?",
        (run_id,),
    )
    return {(position, trial): (cost, time) for position, trial, cost, time in rows}


def bearing(db: Db, run_id: str, tag: str) -> set[Place]:
    """The units of the run whose case has that tag."""
    rows = db.execute(
        "SELECT u.position, u.trial FROM unit u JOIN minion m ON m.id = u.case_id WHERE u.job_id = ?"
        f" AND EXISTS (SELECT 1 FROM {TAGS} t WHERE t.value = ?)",
        (run_id, tag),
    )
    return set(rows)


def holding(db: Db, run_id: str, text: str) -> set[Place]:
    """The units of the run whose output holds the text.

    What JSON never escapes stands in the row as it is, which is looked at first: to read the output out of its JSON takes ten
    times as long.
    """
    said = f"instr(lower({_OUTPUT}), lower(:text)) > 0"
    if _PLAIN.fullmatch(text):
        said = f"coalesce(r.rest, u.output) LIKE :like ESCAPE '\\' AND {said}"
    rows = db.execute(
        f"SELECT u.position, u.trial FROM unit u LEFT JOIN test_run r ON r.id = u.test_run_id WHERE u.job_id = :run AND {said}",
        {"run": run_id, "text": text, "like": f"%{_WILD.sub(_ESCAPED, text)}%"},
    )
    return set(rows)


def lines_at(db: Db, run_id: str, places: Sequence[Place], *, before: str | None = None) -> list[CaseLine]:
    """The cases at those places, in that order."""
    read_rows = db.execute(_DETAIL, {"run": run_id, "before": before or "", "places": json.dumps(places)})
    return [CaseLine(*row) for row in read_rows]


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
