"""Two benchmark-runs on the cases that both have; a case that one of them left out stands as it was judged last."""

from __future__ import annotations

import json

from minions_evals_mcp.domain.failure_types import FailureType
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.rows import WHOLE


@frozen_type
class Shared:
    """Two runs on the cases that both have. `worse` and `better` count the cases whose share of passes fell or rose.

    `broke` counts those of the current run's `total` that a task or judge failed at, where these are counted as not passed.
    """

    cases: int
    previous_passed: int
    previous_total: int
    passed: int
    total: int
    worse: int
    better: int
    broke: int = 0


@frozen_type
class NewlyFailing:
    """A failing run of a case that passed more often before; `loss` is the fall of its score fraction."""

    run_id: str
    case_id: str
    failure_type: FailureType
    loss: float


_SUMS = (
    "benchmark_run_id AS run, test_case_id, sum(passed) AS passed, count(*) AS runs, avg(total_score / max_possible_score) AS part,"
    " min(rest ->> '$.digests.testCase') AS content"
)
_STOOD = (
    f"SELECT {_SUMS} FROM test_run WHERE benchmark_run_id = {{run}} GROUP BY test_case_id UNION ALL"
    f" SELECT {_SUMS} FROM json_each({{others}}) o JOIN test_run ON test_case_id = o.key AND benchmark_run_id = o.value GROUP BY o.key"
)
_THEN, _NOW = (_STOOD.format(run=f":{side}", others=f":{side}_others") for side in ("previous", "current"))
_UNEDITED = "p.content IS c.content"
"""The cases that ask and expect the same in both runs: an edited one is measured anew, and its fall is nobody's."""
_BROKEN = "SELECT case_id, count(*) AS n FROM unit WHERE job_id = :current AND outcome IN ('target-error', 'judge-error') GROUP BY case_id"


def shared(db: Db, previous: str, current: str, *, left_out: bool = False) -> Shared:
    """The two runs' passes on the cases that both have, and that were not edited in between.

    What the previous run did not judge counts as it was judged last before it, if it is measured alike; so does, with
    `left_out`, what the current run was to judge and did not.
    """
    row = db.execute(
        f"SELECT count(*), total(p.passed), total(p.runs), total(c.passed), total(c.runs),"
        f" total(c.passed * p.runs < p.passed * c.runs), total(c.passed * p.runs > p.passed * c.runs)"
        f" FROM ({_THEN}) p JOIN ({_NOW}) c USING (test_case_id) WHERE {_UNEDITED}",
        _sides(db, previous, current, left_out=left_out),
    ).fetchone()
    return Shared(*(int(number) for number in row))


def shared_with_broken(db: Db, previous: str, current: str) -> Shared:
    """As `shared`; an output of the current run that the task or a judge broke at counts as one that did not pass."""
    sides = _sides(db, previous, current, left_out=False)
    lost = [
        row[0]
        for row in db.execute(
            f"SELECT case_id FROM ({_BROKEN}) WHERE case_id NOT IN"
            " (SELECT test_case_id FROM test_run WHERE benchmark_run_id IN (:current, :previous))",
            {"current": current, "previous": previous},
        )
    ]
    then = json.loads(sides["previous_others"]) | _judged_last(db, lost, before=previous, like=None)
    row = db.execute(
        "SELECT count(*), total(was), total(was_of), total(now), total(now_of), total(now * was_of < was * now_of),"
        " total(now * was_of > was * now_of), total(n) FROM (SELECT p.passed AS was, p.runs AS was_of, coalesce(c.passed, 0) AS now,"
        " coalesce(c.runs, 0) + coalesce(n, 0) AS now_of, coalesce(n, 0) AS n FROM"
        f" ({_THEN}) p LEFT JOIN ({_NOW}) c USING (test_case_id) LEFT JOIN ({_BROKEN}) b ON b.case_id = p.test_case_id"
        f" WHERE CASE WHEN c.run IS NULL THEN n > 0 ELSE {_UNEDITED} END)",
        {**sides, "previous_others": json.dumps(then)},
    ).fetchone()
    return Shared(*(int(number) for number in row))


def newly_failing(
    db: Db, previous: str, current: str, *, left_out: bool = False, limit: int = 200
) -> list[NewlyFailing]:
    """The runs behind a fall of the pass rate, the largest loss first; `left_out` as in `shared`."""
    rows = db.execute(
        "SELECT r.id, r.test_case_id, (SELECT failure_type FROM eval_failure f WHERE f.test_run_id = r.id ORDER BY f.seq LIMIT 1),"
        " p.part - r.total_score / r.max_possible_score AS loss"
        f" FROM ({_THEN}) p JOIN ({_NOW}) c USING (test_case_id)"
        " JOIN test_run r ON r.test_case_id = c.test_case_id AND r.benchmark_run_id = c.run"
        f" WHERE r.passed = 0 AND c.passed * p.runs < p.passed * c.runs AND {_UNEDITED}"
        " ORDER BY loss DESC, r.test_case_id, r.trial LIMIT :limit",
        {**_sides(db, previous, current, left_out=left_out), "limit": limit},
    )
    return [NewlyFailing(*row) for row in rows]


def edited_between(db: Db, previous: str, current: str) -> dict[str, bool]:
    """The cases of both runs that were edited in between, and whether each passed less often since."""
    rows = db.execute(
        f"SELECT test_case_id, c.passed * p.runs < p.passed * c.runs FROM ({_THEN}) p JOIN ({_NOW}) c USING (test_case_id)"
        f" WHERE NOT ({_UNEDITED}) ORDER BY test_case_id",
        {"previous": previous, "current": current, "previous_others": "{}", "current_others": "{}"},
    )
    return {case_id: bool(is_worse) for case_id, is_worse in rows}


def _sides(db: Db, previous: str, current: str, *, left_out: bool) -> dict[str, str]:
    """The two runs, and of the cases that they left out the runs that judged them last."""
    unjudged = _unjudged(db, current) if left_out else []
    now = _judged_last(db, unjudged, before=current, like=None)
    lacking = [
        *(
            row[0]
            for row in db.execute(
                "SELECT DISTINCT test_case_id FROM test_run WHERE benchmark_run_id = ?"
                " EXCEPT SELECT test_case_id FROM test_run WHERE benchmark_run_id = ?",
                (current, previous),
            )
        )
    ]
    then = _judged_last(db, lacking, before=previous, like=current)
    return {
        "previous": previous,
        "current": current,
        "previous_others": json.dumps(then),
        "current_others": json.dumps(now),
    }


def _unjudged(db: Db, run_id: str) -> list[str]:
    """The cases that a run was to judge and did not."""
    rows = db.execute(
        "SELECT case_id FROM unit WHERE job_id = ? GROUP BY case_id HAVING count(test_run_id) = 0", (run_id,)
    )
    return [row[0] for row in rows]


_MEASURED = (
    "(SELECT json_array(d ->> '$.testCase', d ->> '$.rubric', d ->> '$.judge', d ->> '$.scorer', d ->> '$.embedder', d ->> '$.target')"
    " FROM (SELECT rest -> '$.digests' AS d FROM test_run WHERE benchmark_run_id = {run} AND test_case_id = {case} LIMIT 1))"
)


def _judged_last(db: Db, case_ids: list[str], *, before: str, like: str | None) -> dict[str, str]:
    """The newest whole run of the benchmark before that one in which each of the cases was judged: as in the run `like`, if given."""
    if not case_ids:
        return {}
    last = (
        "SELECT value AS case_id, (SELECT t.benchmark_run_id FROM test_run t WHERE t.test_case_id = value"
        f" AND t.benchmark_run_id IN (SELECT id FROM benchmark_run WHERE {WHOLE}"
        " AND benchmark_id = (SELECT subject_id FROM job WHERE id = :before)"
        " AND seq < coalesce((SELECT seq FROM benchmark_run WHERE id = :before), 9e18)) ORDER BY t.seq DESC LIMIT 1) AS run"
        " FROM json_each(:cases)"
    )
    alike = f"{_MEASURED.format(run='run', case='case_id')} = {_MEASURED.format(run=':like', case='case_id')}"
    rows = db.execute(
        f"SELECT case_id, run FROM ({last}) WHERE run IS NOT NULL AND (:like IS NULL OR {alike})",
        {"cases": json.dumps(case_ids), "before": before, "like": like},
    )
    return dict(rows.fetchall())
