"""Two benchmark-runs on the cases that both have; a case that one of them left out stands as it was judged last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import add
from statistics import fmean
from typing import NamedTuple

from minions_evals_mcp.domain.failing.failure_types import FailureType
from minions_evals_mcp.domain.results import Evidence
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.paired import ChangeTest, FallOf, SignedChanges, evidence
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging.shared_checks import by_shared_checks
from minions_evals_mcp.store.queries.side_by_side import matched
from minions_evals_mcp.store.rows import WHOLE
from minions_evals_mcp.store.runs import BY_CASE

NO_CHANGE = ChangeTest(0, 0.0, 1.0)


@frozen_type
class Shared:
    """Two runs on the cases that both have. `worse` and `better` count the cases whose share of passes fell or rose.

    `broke` counts those of the current run's `total` that a task or judge failed at, where these are counted as not passed.
    `passes` and `scores` test the changes of the cases' shares of passes and of points, group by group.
    """

    cases: int
    previous_passed: int
    previous_total: int
    passed: int
    total: int
    worse: int
    better: int
    broke: int = 0
    passes: ChangeTest = NO_CHANGE
    scores: ChangeTest = NO_CHANGE

    @property
    def evidence(self) -> Evidence:
        """Returns whether the passes changed by more than chance: by groups where cases share one, else by cases."""
        return self.passes.evidence if self.passes.is_grouped else evidence(self.worse, self.better)

    @property
    def fall(self) -> FallOf | None:
        """Returns what fell by more than chance, by however little."""
        return "passes" if self.passes.is_fall else "scores" if self.scores.is_fall else None


@frozen_type
class NewlyFailing:
    """A failing run of a case that passed more often before; `loss` is the fall of its score fraction."""

    run_id: str
    case_id: str
    failure_type: FailureType
    loss: float


class _Stood(NamedTuple):
    """A case as a run judged it: `part` is the mean share of its points, `failed` the numbers of its failed test-runs."""

    case_id: str
    passed: int
    runs: int
    part: float
    content: str | None
    failed: str | None
    group: str | None

    def is_unedited(self, since: _Stood) -> bool:
        """Returns whether it asks and expects the same: an edited one is measured anew, and its fall is nobody's."""
        return self.content == since.content

    def restated(self, trials: Sequence[tuple[float, bool]]) -> _Stood:
        """The same by some of its checks only: of each trial the share of their points, and whether all passed."""
        return self._replace(
            passed=sum(passed for _, passed in trials), runs=len(trials), part=fmean(score for score, _ in trials)
        )

    def fell(self, since: _Stood) -> bool:
        """Returns whether its share of passes did."""
        return since.passed * self.runs < self.passed * since.runs


_SUMS = (
    "r.test_case_id, sum(r.passed), count(*), avg(r.total_score / r.max_possible_score), min(r.rest ->> '$.digests.testCase'),"
    " group_concat(iif(r.passed, NULL, r.seq)), min(r.rest ->> '$.group')"
)
_OF_RUN = f"SELECT {_SUMS} {BY_CASE}"
_OF_OTHERS = (
    f"SELECT {_SUMS} FROM json_each(?) o JOIN test_run r ON r.test_case_id = o.key AND r.benchmark_run_id = o.value"
    " GROUP BY o.key"
)
_FAILED = (
    "SELECT r.id, r.test_case_id, (SELECT failure_type FROM eval_failure f WHERE f.test_run_id = r.id ORDER BY f.seq LIMIT 1),"
    " ? - r.total_score / r.max_possible_score, r.trial FROM test_run r WHERE r.seq = ?"
)
_BROKEN = "SELECT case_id, count(*) FROM unit WHERE job_id = ? AND outcome IN ('target-error', 'judge-error') GROUP BY position"
_Only = tuple[dict[str, _Stood], dict[str, _Stood]]


@dataclass(slots=True)
class _Tally:
    """The sums over cases that become `Shared`."""

    numbers: list[int] = field(default_factory=lambda: [0] * 8)
    passes: SignedChanges = field(default_factory=SignedChanges)
    scores: SignedChanges = field(default_factory=SignedChanges)

    def add_both(self, before: _Stood, after: _Stood, broke: int = 0) -> None:
        """Adds a case as it stood before and since; what broke since has no pass and no points."""
        tried = after.runs + broke
        self.add(before, after.passed, tried, after.part * after.runs / tried, after.group or before.group, broke)

    def add(self, before: _Stood, passed: int, runs: int, part: float, group: str | None, broke: int = 0) -> None:
        """Adds a case as it stood before, and what it came to since."""
        was, now = before.passed * runs, passed * before.runs
        added = (1, before.passed, before.runs, passed, runs, now < was, now > was, broke)
        self.numbers = [*map(add, self.numbers, added)]
        self.passes.add(passed / runs - before.passed / before.runs, group)
        self.scores.add(part - before.part, group)

    def shared(self) -> Shared:
        """The sums."""
        return Shared(*self.numbers, passes=self.passes.tested(), scores=self.scores.tested())


def shared(db: Db, previous: str, current: str, *, left_out: bool = False) -> Shared:
    """The two runs' passes on the cases that both have, and that were not edited in between.

    What the previous run did not judge counts as it was judged last before it, if it is measured alike; so does, with
    `left_out`, what the current run was to judge and did not.
    """
    tally = _Tally()
    for before, after in _alike(db, previous, current, _beside(db, previous, current, ({}, {}), left_out=left_out)):
        tally.add_both(before, after)
    return tally.shared()


def _alike(
    db: Db, previous: str, current: str, both: Iterable[tuple[_Stood, _Stood]]
) -> Iterator[tuple[_Stood, _Stood]]:
    """Yields the cases that were not edited, and those of which only checks were, by the checks that both runs have."""
    edited: dict[str, tuple[_Stood, _Stood]] = {}
    for before, after in both:
        if before.is_unedited(after):
            yield before, after
        else:
            edited[after.case_id] = before, after
    if edited:
        for case_id, restated in by_shared_checks(db, previous, current, edited).items():
            before, after = edited[case_id]
            yield before.restated(restated.before), after.restated(restated.after)


def shared_with_broken(db: Db, previous: str, current: str) -> Shared:
    """As `shared`; an output of the current run that the task or a judge broke at counts as one that did not pass."""
    tally = _Tally()
    only: _Only = ({}, {})
    edited: list[tuple[_Stood, _Stood]] = []
    broke_edited: dict[str, int] = {}
    broken: dict[str, int] = dict(db.execute(_BROKEN, (current,)).fetchall())
    for before, after in _beside(db, previous, current, only):
        broke = broken.pop(after.case_id, 0)
        if before.is_unedited(after):
            tally.add_both(before, after, broke)
        else:
            edited.append((before, after))
            broke_edited[after.case_id] = broke
    for before, after in _alike(db, previous, current, edited):
        tally.add_both(before, after, broke_edited[after.case_id])
    only_then, only_now = only
    lost = [case_id for case_id in broken if case_id not in only_now]
    last = _judged_last(db, [case_id for case_id in lost if case_id not in only_then], before=previous, like=None)
    only_then.update((before.case_id, before) for before in _in_others(db, last))
    for case_id in lost:
        if case_id in only_then:
            before = only_then[case_id]
            tally.add(before, 0, broken[case_id], 0.0, before.group, broken[case_id])
    return tally.shared()


def newly_failing(
    db: Db, previous: str, current: str, *, left_out: bool = False, limit: int = 200
) -> list[NewlyFailing]:
    """The runs behind a fall of the pass rate, the largest loss first; `left_out` as in `shared`."""
    failed = (
        row
        for before, after in _alike(db, previous, current, _beside(db, previous, current, ({}, {}), left_out=left_out))
        if after.failed and before.fell(after)
        for seq in after.failed.split(",")
        for row in db.execute(_FAILED, (before.part, int(seq)))
    )
    return [NewlyFailing(*row[:4]) for row in nsmallest(limit, failed, key=lambda row: (-row[3], row[1], row[4]))]


def edited_between(db: Db, previous: str, current: str) -> dict[str, bool]:
    """The cases of both runs that were edited in between, and whether each passed less often since."""
    both = matched(_in_run(db, previous), _in_run(db, current), ({}, {}))
    edited = [(after.case_id, before.fell(after)) for before, after in both if not before.is_unedited(after)]
    return dict(sorted(edited))


def not_compared(db: Db, previous: str, current: str) -> dict[str, bool]:
    """As `edited_between`, without the cases that are compared by the checks of both runs."""
    edited = edited_between(db, previous, current)
    compared = by_shared_checks(db, previous, current, edited) if edited else {}
    return {case_id: is_worse for case_id, is_worse in edited.items() if case_id not in compared}


def gone(db: Db, previous: str, current: str) -> int:
    """The number of cases that the previous run judged and the current one was not to."""
    (number,) = db.execute(
        "SELECT count(DISTINCT test_case_id) FROM test_run WHERE benchmark_run_id = ?"
        " AND test_case_id NOT IN (SELECT case_id FROM unit WHERE job_id = ?)",
        (previous, current),
    ).fetchone()
    return number


def _in_run(db: Db, run_id: str) -> Iterator[_Stood]:
    """The cases that a run judged, in its order."""
    return map(_Stood._make, db.execute(_OF_RUN, (run_id,)))


def _in_others(db: Db, others: dict[str, str]) -> Iterator[_Stood]:
    """The cases as those other runs judged them."""
    return map(_Stood._make, db.execute(_OF_OTHERS, (json.dumps(others),)) if others else ())


def _beside(
    db: Db, previous: str, current: str, only: _Only, *, left_out: bool = False
) -> Iterator[tuple[_Stood, _Stood]]:
    """Yields how each case stood in the two runs; what one of them left out stands as it was judged last.

    What remains in `only` has no counterpart.
    """
    yield from matched(_in_run(db, previous), _in_run(db, current), only)
    only_then, only_now = only
    last = _judged_last(db, list(only_now), before=previous, like=current)
    for before in _in_others(db, last):
        yield before, only_now.pop(before.case_id)
    if left_out:
        last = _judged_last(db, _unjudged(db, current), before=current, like=None)
        for after in _in_others(db, last):
            if after.case_id in only_then:
                yield only_then.pop(after.case_id), after


def _unjudged(db: Db, run_id: str) -> list[str]:
    """The cases that a run was to judge and did not."""
    rows = db.execute(
        "SELECT case_id FROM unit WHERE job_id = ? GROUP BY position HAVING count(test_run_id) = 0", (run_id,)
    )
    return [row[0] for row in rows]


def unjudged_outputs(db: Db, run_id: str) -> dict[str, int]:
    """How many outputs of each case a run was to judge and did not; cases with all of theirs are left out."""
    rows = db.execute(
        "SELECT case_id, count(*) FROM unit WHERE job_id = ? AND test_run_id IS NULL GROUP BY case_id", (run_id,)
    )
    return dict(rows.fetchall())


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
