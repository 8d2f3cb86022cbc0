"""A test case's own runs: what a new one is compared with, their figures, and pages of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pydantic_core import from_json

from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import Digests, TestRun
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.verdicts.history import RunSample, sample, score_fraction
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import AT_MOST, Db
from minions_evals_mcp.store.rows import record_of, select, table_of

# A test-run's id is that of its job with `:POSITION.TRIAL`.
_JOB = "rtrim(test_run.id, '0123456789.')"
_COUNTS = (
    "test_case_id = ? AND trial = 1 AND NOT EXISTS (SELECT 1 FROM main.job AS job INDEXED BY job_comparison WHERE"
    f" job.id = substr({_JOB}, 1, length({_JOB}) - 1) AND json_extract(job.spec, '$.request.purpose') = 'comparison')"
)
"""The runs that are history: comparisons, later trials and errors are none."""
_SCORE = "min(1.0, max(0.0, coalesce(total_score / max_possible_score, 0.0)))"


_SINCE_BASELINE = (
    "ran_at >= coalesce((SELECT max(at) FROM event WHERE subject_id = ? AND type = 'expected-output-updated'), 0)"
)
"""The runs since another output was accepted as the expected one: the history of a case begins anew with it."""


_EARLIER = (
    "SELECT wanted.value, r.passed, r.total_score, r.max_possible_score, r.rest FROM json_each(?) wanted"
    " JOIN test_run r ON r.seq IN (SELECT seq FROM test_run"
    f" WHERE {_COUNTS.replace('?', 'wanted.value', 1)} AND {_SINCE_BASELINE.replace('?', 'wanted.value', 1)}"
    " AND substr(id, 1, ?) <> ? ORDER BY seq DESC LIMIT ?) ORDER BY wanted.key, r.seq DESC"
)


def earlier_samples(db: Db, case_ids: Sequence[str], *, job_id: str, limit: int) -> dict[str, tuple[RunSample, ...]]:
    """The newest runs of each case under its present baseline, newest first, those of the given job left out."""
    samples: dict[str, list[RunSample]] = {case_id: [] for case_id in case_ids}
    for case_id, *row in db.execute(_EARLIER, (json.dumps(list(samples)), len(job_id) + 1, f"{job_id}:", limit)):
        samples[case_id].append(_sample(*row))
    return {case_id: tuple(samples) for case_id, samples in samples.items()}


def _sample(passed: int, score: float, possible: float, rest: str) -> RunSample:
    fields = from_json(rest)
    known = fields.get("digests", {}).get
    return sample(
        passed=bool(passed),
        fraction=score_fraction(score, possible),
        semantic_score=fields.get("semanticScore"),
        decided_by=fields["passRule"],
        digests=Digests.trusted(
            test_case=known("testCase"), rubric=known("rubric"), judge=known("judge"), embedder=known("embedder")
        ),
        output=fields["actualOutput"],
    )


@frozen_type
class CaseFigures:
    """The figures of a case's runs; `average` is the mean score fraction."""

    runs: int
    passed: int
    average: float | None


def figures(db: Db, case_id: str) -> CaseFigures:
    """The figures over all runs of the case that are history."""
    row = db.execute(
        f"SELECT count(*), total(passed), avg({_SCORE}) FROM test_run WHERE {_COUNTS}", (case_id,)
    ).fetchone()
    return CaseFigures(row[0], int(row[1]), row[2])


def figures_by_day(db: Db, case_id: str, *, limit: int) -> list[tuple[str, CaseFigures]]:
    """The figures of the newest days (UTC) on which the case ran, oldest first."""
    rows = db.execute(
        f"SELECT date(ran_at / 1000, 'unixepoch') AS day, count(*), total(passed), avg({_SCORE}) FROM test_run"
        f" WHERE {_COUNTS} GROUP BY day ORDER BY day DESC {AT_MOST}",
        (case_id, limit),
    ).fetchall()
    return [(row[0], CaseFigures(row[1], int(row[2]), row[3])) for row in reversed(rows)]


def recent(db: Db, case_id: str, *, regressions: bool = False, limit: int) -> list[Record[TestRun]]:
    """The newest runs of the case that are history, newest first; with `regressions` those only."""
    only = " AND json_extract(rest, '$.isRegression') = 1" if regressions else ""
    return [run for _, run in _page(db, f"{_COUNTS}{only} ORDER BY seq DESC {AT_MOST}", (case_id, limit))]


def executions(
    db: Db, case_id: str, *, before: int | None = None, offset: int = 0, limit: int
) -> list[tuple[int, Record[TestRun]]]:
    """A page of all runs of the case, newest first, each with the cursor to go on from."""
    where = f"test_case_id = ? AND (? IS NULL OR seq < ?) ORDER BY seq DESC {AT_MOST} OFFSET ?"
    return _page(db, where, (case_id, before, before, limit, offset))


def count(db: Db, case_id: str) -> int:
    """Returns how many runs of the case there are in all."""
    return db.execute("SELECT count(*) FROM test_run WHERE test_case_id = ?", (case_id,)).fetchone()[0]


def _page(db: Db, where: str, values: Iterable[object]) -> list[tuple[int, Record[TestRun]]]:
    table = table_of(TestRun)
    rows = db.execute(select(table, where), tuple(values))
    return [(row[0], record_of(table, row)) for row in rows]


def cases_of_prompt(db: Db, prompt_id: str, versions: Iterable[str] = ()) -> list[Record[TestCase]]:
    """The test cases that name the prompt, or no prompt and one of its `versions`, in the order in which they were made."""
    return _cases(
        db,
        "(fields ->> '$.promptId' = ?1 OR (fields ->> '$.promptId' IS NULL AND (fields ->> '$.promptVersionRef' IN"
        " (SELECT value FROM json_each(?2)) OR substr(fields ->> '$.promptVersionRef', 1, length(?1) + 1) = ?1 || '@')))",
        (prompt_id, json.dumps([*versions])),
    )


def cases_of_skill(db: Db, skill_id: str) -> list[Record[TestCase]]:
    """The test cases that name the skill, in the order in which they were made."""
    return _cases(db, "fields ->> '$.skillId' = ?", (skill_id,))


def _cases(db: Db, which: str, values: tuple[str, ...]) -> list[Record[TestCase]]:
    rows = db.execute(
        f"SELECT id FROM minion WHERE type = 'test-case' AND deleted_at IS NULL AND {which} ORDER BY seq", values
    ).fetchall()
    cases = records.get_all(db, [row[0] for row in rows], TestCase)
    return [cases[row[0]] for row in rows]


def waiting_units(db: Db, *case_ids: str) -> list[UnitKey]:
    """The units of the cases whose outputs wait to be judged, the newest run's first."""
    rows = db.execute(
        "SELECT u.job_id, u.position, u.trial FROM unit u JOIN job j ON j.id = u.job_id"
        " WHERE u.packet IS NOT NULL AND u.outcome = 'awaiting-judgments'"
        " AND u.case_id IN (SELECT value FROM json_each(?)) ORDER BY j.created_at DESC, u.job_id, u.trial",
        (json.dumps(case_ids),),
    )
    return [UnitKey(*row) for row in rows]


def cases_asking(db: Db, *, inputs: Json, but: str) -> list[str]:
    """The ids of a few other cases with those inputs."""
    rows = db.execute(
        "SELECT id FROM minion WHERE type = 'test-case' AND deleted_at IS NULL AND id <> ?"
        f" AND json_extract(fields, '$.inputs') = json(?) ORDER BY id {AT_MOST}",
        (but, json.dumps(inputs), 3),
    )
    return [row[0] for row in rows]


@frozen_type
class Regressed:
    """A test-run that is a regression; `kind` is the gravest."""

    seq: int
    id: str
    test_case_id: str
    prompt_version_ref: str | None
    kind: str
    passed: bool
    score: float
    possible: float


def regressed(db: Db, test_run_ids: Sequence[str]) -> list[Regressed]:
    """Those of the test-runs that are regressions, of the first trial, in the order in which they were recorded.

    What is part of a benchmark-run is left out: the benchmark's own regression speaks for it.
    """
    rows = db.execute(
        "SELECT seq, id, test_case_id, prompt_version_ref, coalesce(rest ->> '$.regressionType', ''), passed, total_score,"
        " max_possible_score FROM test_run WHERE id IN (SELECT value FROM json_each(?)) AND trial = 1"
        " AND benchmark_run_id IS NULL AND json_extract(rest, '$.isRegression') = 1 ORDER BY seq",
        (json.dumps([*test_run_ids]),),
    )
    return [
        Regressed(seq, ident, case_id, version, kind, bool(passed), score, possible)
        for seq, ident, case_id, version, kind, passed, score, possible in rows
    ]


def is_regression_open(db: Db, version: str | None, *, case_ids: Sequence[str] | None, before: int) -> bool:
    """Tells whether a case had regressed under the version before that row, and has not passed as before since.

    `case_ids`: only those cases; None: all.
    """
    row = db.execute(
        "SELECT 1 FROM test_run o WHERE json_extract(o.rest, '$.isRegression') = 1 AND o.seq < :before AND o.trial = 1"
        " AND o.benchmark_run_id IS NULL AND o.prompt_version_ref IS :version"
        " AND (:cases IS NULL OR o.test_case_id IN (SELECT value FROM json_each(:cases)))"
        " AND NOT EXISTS (SELECT 1 FROM test_run n WHERE n.test_case_id = o.test_case_id AND n.seq > o.seq AND n.seq < :before"
        " AND n.trial = 1 AND n.passed = 1 AND n.prompt_version_ref IS :version"
        " AND coalesce(json_extract(n.rest, '$.isRegression'), 0) = 0) LIMIT 1",
        {"before": before, "version": version, "cases": None if case_ids is None else json.dumps([*case_ids])},
    ).fetchone()
    return row is not None
