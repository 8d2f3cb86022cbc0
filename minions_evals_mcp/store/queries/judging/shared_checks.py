"""Cases whose checks were edited between two runs, judged by the checks that both runs have."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minions_evals_mcp.store.connection import Db

Check = dict[str, Any]


@dataclass(slots=True, eq=False)
class Restated:
    """A case by the checks of both runs: of each trial before and after, the share of their points and whether all passed."""

    before: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    after: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    names: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class _Case:
    """A case in one run: the digest of what it asks, and the checks of each trial by their digests."""

    asked: str
    trials: list[dict[str, Check]] = field(default_factory=list[dict[str, Check]])

    def common(self) -> dict[str, Check]:
        """The checks that every trial has."""
        first, *others = self.trials
        return {digest: check for digest, check in first.items() if all(digest in trial for trial in others)}


_OF_RUN = (
    "SELECT test_case_id, rest ->> '$.askedDigest', rest -> '$.checks' FROM test_run"
    " WHERE benchmark_run_id = ? AND test_case_id IN (SELECT value FROM json_each(?)) AND rest ->> '$.askedDigest' IS NOT NULL"
    " ORDER BY trial, seq"
)


def by_shared_checks(db: Db, previous: str, current: str, case_ids: Iterable[str]) -> dict[str, Restated]:
    """Those of the cases that ask the same in both runs and have checks in common, by these checks."""
    wanted = json.dumps([*case_ids])
    then, now = _cases(db, previous, wanted), _cases(db, current, wanted)
    restated: dict[str, Restated] = {}
    for case_id, after in now.items():
        before = then.get(case_id)
        if before is None or before.asked != after.asked:
            continue
        first, other = before.common(), after.common()
        if shared := [digest for digest in other if digest in first]:
            restated[case_id] = Restated(
                [_by(trial, shared, other) for trial in before.trials],
                [_by(trial, shared, other) for trial in after.trials],
                tuple(other[digest]["name"] for digest in shared),
                tuple(check["name"] for digest, check in other.items() if digest not in first),
                tuple(check["name"] for digest, check in first.items() if digest not in other),
            )
    return restated


def _cases(db: Db, run_id: str, wanted: str) -> dict[str, _Case]:
    cases: dict[str, _Case] = {}
    for case_id, asked, checks in db.execute(_OF_RUN, (run_id, wanted)):
        by_digest = {str(check["digest"]): check for check in json.loads(checks or "[]")}
        cases.setdefault(case_id, _Case(asked)).trials.append(by_digest)
    return cases


def _by(trial: dict[str, Check], shared: Iterable[str], weights: dict[str, Check]) -> tuple[float, bool]:
    """The weighted mean of the shared checks of a trial, and whether all passed; the weights are those of the later run."""
    total = score = 0.0
    passed = True
    for digest in shared:
        weight = float(weights[digest].get("weight", 1.0))
        total += weight
        score += weight * float(trial[digest]["score"])
        passed = passed and bool(trial[digest]["passed"])
    return score / total if total else 0.0, passed


@dataclass(frozen=True, slots=True)
class CheckMean:
    """A check over a run: its mean score, and how many of the outputs that it judged passed it."""

    name: str
    score: float
    passed: int
    total: int


def check_means(db: Db, run_id: str) -> list[CheckMean]:
    """The average of each check of a run, in the order of the checks."""
    rows = db.execute(
        "SELECT c.value ->> '$.name', avg(c.value ->> '$.score'), sum(c.value ->> '$.passed'), count(*)"
        " FROM test_run r, json_each(r.rest, '$.checks') c WHERE r.benchmark_run_id = ? GROUP BY 1 ORDER BY min(c.key), min(r.seq)",
        (run_id,),
    )
    return [CheckMean(*row) for row in rows]
