"""Two benchmark-runs read side by side, case by case.

What stands at the same place in both meets at once, and only what stands elsewhere is held until it is met: two runs of a
million cases take no more room than small ones, where a join would hold one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, TypeVar

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.shared_checks import by_shared_checks
from minions_evals_mcp.store.runs import BY_CASE

Row = TypeVar("Row", bound=tuple[Any, ...])
"""What is known of a case of a run; what it is known by comes first."""


def matched(
    then: Iterable[Row], now: Iterable[Row], only: tuple[dict[Any, Row], dict[Any, Row]]
) -> Iterator[tuple[Row, Row]]:
    """Yields what both have; what has no counterpart is left in `only`, where what may still be met is held."""
    only_then, only_now = only
    for before, after in zip_longest(then, now):
        if before is not None and after is not None and before[0] == after[0]:
            yield before, after
            continue
        if before is not None:
            if before[0] in only_now:
                yield before, only_now.pop(before[0])
            else:
                only_then[before[0]] = before
        if after is not None:
            if after[0] in only_then:
                yield only_then.pop(after[0]), after
            else:
                only_now[after[0]] = after


def _cases(db: Db, previous: str, current: str, columns: str) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yields those columns of the cases that both runs have, as one of the test-runs `r` of each has them; the id comes first."""
    query = f"SELECT r.test_case_id, {columns} {BY_CASE}"
    return matched(db.execute(query, (previous,)), db.execute(query, (current,)), ({}, {}))


def same_yardsticks(db: Db, previous: str, current: str) -> bool:
    """Returns whether the cases that both runs have were judged under the same rubrics by the same judges."""
    digests = "r.rest ->> '$.digests.rubric', r.rest ->> '$.digests.judge'"
    return all(before == after for before, after in _cases(db, previous, current, digests))


def all_edited(db: Db, previous: str, current: str) -> bool:
    """Whether the runs have cases in common, and each of them or what scores it was edited, and no check of it stayed as it was."""
    digests = "r.rest ->> '$.digests.testCase', r.rest ->> '$.digests.scorer', r.rest ->> '$.digests.embedder'"
    in_common = False
    edited: list[str] = []
    for before, after in _cases(db, previous, current, digests):
        if before == after:
            return False
        in_common = True
        if before[2:] == after[2:]:
            edited.append(after[0])
    return in_common and not by_shared_checks(db, previous, current, edited)


@frozen_type
class Exchanged:
    """A case's recorded output in one run, and the other one that was judged in a later run."""

    case_id: str
    before: str
    now: str


def exchanged(db: Db, before: str, now: str) -> Iterator[Exchanged]:
    """Yields the outputs that the later run judged in place of other recorded ones."""
    recorded = (
        "SELECT r.test_case_id, r.trial, r.agent_run_id FROM unit u CROSS JOIN test_run r ON r.id = u.test_run_id"
        " WHERE u.job_id = ? AND r.benchmark_run_id = u.job_id AND r.agent_run_id IS NOT NULL ORDER BY u.position, u.trial"
    )
    then, since = (
        (((case_id, trial), output) for case_id, trial, output in db.execute(recorded, (run,))) for run in (before, now)
    )
    for (trial, first), (_, other) in matched(then, since, ({}, {})):
        if first != other:
            yield Exchanged(trial[0], first, other)
