"""The judgments of a run that say little: given before it began, by whoever produced the output, or all for one reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from minions_evals_mcp.store.connection import Db

REPEATED = 5
"""One rationale for this many different outputs says nothing of any of them."""


class JudgmentOrigins(NamedTuple):
    """How many judgments were given before the run began, how many test-runs judge their own output, how many judgments repeat
    one rationale for five different outputs or more, and the cases with outputs that address the model that judged them.
    """

    reused: int = 0
    own: int = 0
    repeated: int = 0
    addressed: tuple[str, ...] = ()


def judgment_origins(db: Db, run_id: str, *, begun: int) -> JudgmentOrigins:
    """Counts of a benchmark-run that began then (milliseconds); rules' judgments are made anew and not counted."""
    (reused,) = db.execute(
        "SELECT count(*) FROM test_run r JOIN eval_judgment j ON j.test_run_id = r.id"
        " WHERE r.benchmark_run_id = ? AND j.judged_by_type <> 'heuristic' AND j.judged_at < ?",
        (run_id, begun),
    ).fetchone()
    (own,) = db.execute(
        "SELECT count(*) FROM test_run WHERE benchmark_run_id = ? AND rest ->> '$.selfJudged'", (run_id,)
    ).fetchone()
    return JudgmentOrigins(reused, own, repeated_judgments(db, [run_id]), addressed_cases(db, run_id))


def addressed_cases(db: Db, run_id: str, *, passed: bool = False) -> tuple[str, ...]:
    """The cases of the benchmark-run with an output that addresses its judge; `passed`: only where it was let pass."""
    rows = db.execute(
        "SELECT DISTINCT test_case_id FROM test_run WHERE benchmark_run_id = ? AND rest ->> '$.addressesJudge' AND passed >= ?"
        " ORDER BY test_case_id",
        (run_id, passed),
    )
    return tuple(row[0] for row in rows)


def repeated_judgments(db: Db, run_ids: Sequence[str]) -> int:
    """The number of judgments of those benchmark-runs that repeat one rationale of one judge for five different outputs or more.

    A rule's rationale follows from the output, and is not counted.
    """
    (repeated,) = db.execute(
        "SELECT coalesce(sum(judgments), 0) FROM (SELECT count(*) AS judgments FROM test_run r"
        " JOIN eval_judgment j ON j.test_run_id = r.id WHERE r.benchmark_run_id IN (SELECT value FROM json_each(?))"
        " AND j.judged_by_type <> 'heuristic' GROUP BY j.judged_by, lower(trim(j.rationale))"
        " HAVING count(DISTINCT r.rest -> '$.actualOutput') >= ?)",
        (json.dumps([*run_ids]), REPEATED),
    ).fetchone()
    return repeated
