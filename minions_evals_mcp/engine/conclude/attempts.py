"""Which attempt to beat a version a comparison is, at what error that is decided, and on which data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.engine.version_chain import versions_ever
from minions_evals_mcp.stats.attempts import attempt_level
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging import attempts


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to beat a version: the `number`-th, and the earlier comparisons (id, run of A, run of B) pooled with it."""

    number: int
    pooled: tuple[tuple[str, str, str], ...] = ()

    @property
    def level(self) -> float:
        """The error at which it is decided."""
        return attempt_level(self.number)

    def in_words(self) -> str:
        """For the comparison's notes."""
        words = f"attempt {self.number}, decided at p <= {self.level:.3g}"
        if not self.pooled:
            return words
        return f"{words}, on the data of {len(self.pooled) + 1} comparisons"


def attempt_of(db: Db, version: str, *, runs: tuple[str, str], job: str, at: datetime) -> Attempt:
    """The attempt to beat `version` that the comparison `job` of those two runs is, now that it is recorded.

    All count: comparisons with any candidate, benchmark, judge or selection of cases, those begun and not ended, and,
    where the outputs were not made for this comparison, the results that were there to choose from.
    """
    number = _recorded_number(db, version, runs=runs, before=None) + attempts.unfinished(db, version, but=job)
    if not (_are_sides_of(db, job, runs) and attempts.is_fresh(db, runs[1])):
        number += _passed_over(db, version, runs=runs, at=at)
    return Attempt(number, tuple(attempts.poolable(db, version, runs=runs)))


def recorded_attempt(db: Db, comparison: Record[PromptComparison]) -> Attempt:
    """The attempt that a recorded comparison was; one from before attempts were counted is counted now."""
    fields = comparison.fields
    runs, version = (fields.benchmark_run_id_a, fields.benchmark_run_id_b), fields.prompt_version_a
    least = _recorded_number(db, version, runs=runs, before=comparison.id)
    if fields.attempt is None:
        least += _passed_over(db, version, runs=runs, at=fields.compared_at)
    pooled = attempts.poolable(db, version, runs=runs, before=comparison.id)
    return Attempt(max(least, fields.attempt or 1), tuple(pooled))


def _recorded_number(db: Db, version: str, *, runs: tuple[str, str], before: str | None) -> int:
    pair = (min(runs), max(runs))
    return 1 + len(attempts.compared_pairs(db, version, before=before) - {pair})


def _passed_over(db: Db, version: str, *, runs: tuple[str, str], at: datetime) -> int:
    rivals = [one for one in versions_ever(db, version) if one != version]
    return attempts.looked_at_alone(db, version, rivals, runs=runs, until=to_millis(at))


def _are_sides_of(db: Db, job: str, runs: Sequence[str]) -> bool:
    """Whether the two runs were made for that comparison, not chosen among stored ones."""
    sides = [jobs.job_by_key(db, f"{job}:{which}") for which in ("A", "B")]
    return [side.id for side in sides if side is not None] == [*runs]
