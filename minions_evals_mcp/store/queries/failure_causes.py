"""The causes of a run's failures, and what is kept of a benchmark's causes over its runs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from minions_evals_mcp.domain.values import from_millis, to_millis
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.failure_causes import (
    CauseGroup,
    FailureLoss,
    FailureSeen,
    cause_group,
    cause_key,
    counted_causes,
)
from minions_evals_mcp.store.connection import Db

MOST_CAUSES, MOST_EXAMPLES = 200, 20
"""So many causes of a run are told, and so many cases of each by name."""
PAGE = 500
"""So many failures are read at a time."""
_LINES = (
    "SELECT r.id, r.test_case_id, coalesce(f.rest ->> '$.causeKey', ''), 1 - r.total_score / r.max_possible_score FROM {source}"
    " JOIN eval_failure f ON f.test_run_id = r.id AND f.id = r.id || ':failure' WHERE r.passed = 0 {where}"
)
_OF_RUN = _LINES.format(
    source="unit u CROSS JOIN test_run r ON r.id = u.test_run_id",
    where="AND u.job_id = ? AND r.benchmark_run_id = u.job_id ORDER BY u.position, u.trial",
)
_OF_TEST_RUNS = _LINES.format(
    source="json_each(?) p JOIN test_run r ON r.id = p.value", where="ORDER BY r.test_case_id"
)
_SEEN = (
    "SELECT r.id, r.test_case_id, coalesce(m.title, r.test_case_id), f.failure_type, coalesce(f.rest ->> '$.rootCause', ''),"
    " coalesce(f.rest -> '$.signals', '[]'), coalesce(f.rest -> '$.affectedCriterionIds', '[]'),"
    " 1 - r.total_score / r.max_possible_score FROM json_each(?) p JOIN test_run r ON r.id = p.value"
    " JOIN eval_failure f ON f.test_run_id = r.id AND f.id = r.id || ':failure' LEFT JOIN minion m ON m.id = r.test_case_id"
)


@frozen_type
class KeptCause:
    """A cause over a benchmark's runs. `gone_run_id`: the run in which it was gone, where it has not come back since."""

    key: str
    title: str
    first_run_id: str
    first_version: str
    first_at: datetime
    last_run_id: str
    gone_run_id: str | None = None
    came_back: int = 0


@frozen_type
class Causes:
    """The causes of failures, the one with the most cases first; `cases` are all that failed, `new` those that passed before."""

    groups: tuple[CauseGroup, ...]
    cases: int
    new: int


def causes_of_run(db: Db, run_id: str, new: Collection[str] = ()) -> Causes:
    """Returns what the failures of a benchmark-run go back to; `new` are cases that passed before."""
    return _causes(db, db.execute(_OF_RUN, (run_id,)), new)


def causes_of_test_runs(db: Db, test_run_ids: Sequence[str]) -> Causes:
    """Returns what those test-runs go back to, as far as they failed."""
    return _causes(db, db.execute(_OF_TEST_RUNS, (json.dumps(list(test_run_ids)),)), ())


def _causes(db: Db, rows: Iterator[tuple[Any, ...]], new: Collection[str]) -> Causes:
    counted = counted_causes(_lines(db, rows), new=new, examples=MOST_EXAMPLES)
    largest = counted.causes[:MOST_CAUSES]
    seen = _failures_of(db, [ident for cause in largest for *_, ident in cause.worst])
    groups = (cause_group(cause, [seen[ident] for *_, ident in cause.worst], counted.loss) for cause in largest)
    return Causes(tuple(groups), counted.cases, counted.new)


def _lines(db: Db, rows: Iterator[tuple[Any, ...]]) -> Iterator[FailureLoss]:
    while page := [*islice(rows, PAGE)]:
        unnamed = _failures_of(db, [ident for ident, _, key, _ in page if not key])  # from before causes had keys
        keys = {
            ident: cause_key(failure.failure_type, failure.root_cause, failure.signals, failure.criteria)
            for ident, failure in unnamed.items()
        }
        for ident, case, key, loss in page:
            yield FailureLoss(ident, case, key or keys[ident], _share(loss))


def _failures_of(db: Db, test_run_ids: Sequence[str]) -> dict[str, FailureSeen]:
    if not test_run_ids:
        return {}
    rows = db.execute(_SEEN, (json.dumps(list(test_run_ids)),))
    return {
        ident: FailureSeen(
            ident, case, title, kind, cause, tuple(json.loads(signals)), tuple(json.loads(criteria)), _share(loss)
        )
        for ident, case, title, kind, cause, signals, criteria, loss in rows
    }


def _share(loss: float) -> float:
    return min(1.0, max(0.0, loss))


_KEPT = (
    "SELECT cause_key, title, first_run_id, first_version, first_at, last_run_id, gone_run_id, came_back"
    " FROM failure_cause WHERE benchmark_id = ?"
)


def kept_causes(db: Db, benchmark_id: str) -> dict[str, KeptCause]:
    """The benchmark's causes by their keys."""
    causes = [_cause(*row) for row in db.execute(_KEPT, (benchmark_id,))]
    return {cause.key: cause for cause in causes}


def causes_of_case(db: Db, case_id: str) -> dict[str, KeptCause]:
    """The causes of the benchmarks that a case belongs to by their keys, the one seen first of each."""
    benchmarks = db.execute(
        "SELECT DISTINCT benchmark_id FROM benchmark_run WHERE id IN"
        " (SELECT benchmark_run_id FROM test_run WHERE test_case_id = ?) ORDER BY benchmark_id",
        (case_id,),
    ).fetchall()
    causes = [cause for (ident,) in benchmarks for cause in kept_causes(db, ident).values()]
    return {cause.key: cause for cause in sorted(causes, key=lambda cause: cause.first_at, reverse=True)}


def _cause(*row: Any) -> KeptCause:
    key, title, first_run, version, first_at, last_run, gone_run, back = row
    return KeptCause(key, title, first_run, version, from_millis(first_at), last_run, gone_run, back)


def keep_new(db: Db, benchmark_id: str, cause: KeptCause) -> None:
    """Keeps a cause that was never seen before."""
    at = to_millis(cause.first_at)
    db.execute(
        "INSERT INTO failure_cause (benchmark_id, cause_key, title, first_run_id, first_version, first_at, last_run_id, last_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (benchmark_id, cause.key, cause.title, cause.first_run_id, cause.first_version, at, cause.last_run_id, at),
    )


def seen_again(db: Db, benchmark_id: str, *, key: str, title: str, run_id: str, at: datetime) -> None:
    """Notes that a cause was seen once more; one that was gone has come back."""
    db.execute(
        "UPDATE failure_cause SET title = ?, last_run_id = ?, last_at = ?, came_back = came_back + (gone_run_id IS NOT NULL),"
        " gone_run_id = NULL WHERE benchmark_id = ? AND cause_key = ?",
        (title, run_id, to_millis(at), benchmark_id, key),
    )


def gone(db: Db, benchmark_id: str, keys: Sequence[str], *, run_id: str) -> None:
    """Notes in which run those causes were gone, or called resolved."""
    db.execute(
        "UPDATE failure_cause SET gone_run_id = ? WHERE benchmark_id = ? AND gone_run_id IS NULL"
        " AND cause_key IN (SELECT value FROM json_each(?))",
        (run_id, benchmark_id, json.dumps(list(keys))),
    )


def times_back(db: Db, test_run_id: str, key: str) -> int:
    """Returns how often the cause came back in the benchmark of that test-run; 0 for a run of a case alone."""
    row = db.execute(
        "SELECT c.came_back FROM test_run r JOIN benchmark_run b ON b.id = r.benchmark_run_id"
        " JOIN failure_cause c ON c.benchmark_id = b.benchmark_id AND c.cause_key = ? WHERE r.id = ?",
        (key, test_run_id),
    ).fetchone()
    return 0 if row is None else row[0]


def resolved(db: Db, failure_id: str) -> None:
    """Notes that a person called the failure's cause resolved, once no failure of that run with this cause is open."""
    db.execute(
        "UPDATE failure_cause SET gone_run_id = last_run_id WHERE gone_run_id IS NULL AND (benchmark_id, cause_key) IN ("
        " SELECT b.benchmark_id, f.rest ->> '$.causeKey' FROM eval_failure f JOIN test_run r ON r.id = f.test_run_id"
        " JOIN benchmark_run b ON b.id = r.benchmark_run_id WHERE f.id = ? AND NOT EXISTS ("
        "  SELECT 1 FROM test_run o JOIN eval_failure x ON x.test_run_id = o.id AND x.id = o.id || ':failure'"
        "  WHERE o.benchmark_run_id = b.id AND o.passed = 0 AND x.resolved_at IS NULL"
        "  AND x.rest ->> '$.causeKey' = f.rest ->> '$.causeKey'))",
        (failure_id,),
    )
