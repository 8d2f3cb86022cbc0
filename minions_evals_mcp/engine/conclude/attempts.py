"""The number of a comparison among the attempts to beat a version, at what error that is decided, and on which data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.domain.values import to_millis
from minions_evals_mcp.engine.conclude.stored_results import NO_CHOICE, StoredResults, choice_among
from minions_evals_mcp.engine.seals.exposures import sealed_number
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.attempts import attempt_level, attempts_spent
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.judging import attempts
from minions_evals_mcp.store.seals import is_open_part


@frozen_type
class Attempt:
    """One attempt to beat a version: the `number`-th, and what decides with the two runs.

    That is either the earlier comparisons (id, run of A, run of B) `pooled` with it, or all `stored` results. `instead` of the
    attempts are results that could have been compared instead, `elsewhere` what that would be beside a comparison on other cases.
    `earlier`: the comparisons before it; those of one candidate on several benchmarks count together. `share`: the part of the
    level at which one benchmark of a family is decided is 1 / `share`.
    """

    number: int
    pooled: tuple[tuple[str, str, str], ...] = ()
    stored: StoredResults | None = None
    instead: int = 0
    elsewhere: int = 0
    earlier: int = 0
    share: int = 1

    @property
    def level(self) -> float:
        """The error at which it is decided."""
        return attempt_level(self.number) / self.share

    @property
    def next_level(self) -> float:
        """The error at which the next attempt is decided, with more cases or trials."""
        return attempt_level(self.following)

    @property
    def following(self) -> int:
        """The number of the next attempt on more cases: this one counts, and each stored result is one that could be chosen instead."""
        return self.number + 1 + max(0, self.elsewhere - self.instead)

    def in_words(self, level: float | None = None) -> str:
        """For the comparison's notes; `level` is the error at which it was decided, where that is not the attempt's own."""
        decided = f"decided at p <= {self.level if level is None else level:.3g}"
        harm = "" if level is None or level == self.level else ", as for every drop"
        words = f"attempt {self.number}{self._counted()}, {decided}{harm}"
        return f"{words}, on the data of {self.data}" if self.data else words

    def _counted(self) -> str:
        """Returns what made it more than the first."""
        before = self.earlier
        parts = [f"{before} earlier {'comparison' if before == 1 else 'comparisons'}"] * (before > 0)
        if self.instead:
            parts.append(f"{self.instead} for stored results that could be chosen instead")
        return f" ({', '.join(parts)})" if parts else ""

    @property
    def data(self) -> str:
        """Returns what decides beside the two runs, in words; empty where they decide alone."""
        if self.stored is not None:
            return f"all {self.stored.results} stored results of either version"
        return f"{len(self.pooled) + 1} comparisons" if self.pooled else ""


def attempt_of(
    db: Db, versions: tuple[str, str], *, runs: tuple[str, str], job: str, at: datetime, benchmark: str
) -> Attempt:
    """The attempt to beat the first version that the comparison `job` of those two runs is, now that it is recorded.

    On a sealed benchmark every verdict told of its contents counts, of whatever version. On the open part of one that is
    sealed in part nothing is decided, so that each stands for itself.

    All count: comparisons with any candidate, benchmark, judge or selection of cases, those begun and not ended, and,
    where the outputs were not made for this comparison, what there was to choose from.
    """
    if is_open_part(db, benchmark):
        return Attempt(1)
    others = attempts.compared(db, versions[0], but_for=runs) + attempts.unfinished(db, versions[0], but=job)
    number = attempts_spent([*others, (versions[1], benchmark)])
    sealed_at = sealed_number(db, benchmark, comparison_id=job)
    earlier = max(len(others), sealed_at - 1)
    if _is_made_for(db, job, runs):
        pooled = tuple(attempts.poolable(db, versions[0], runs=runs))
        return Attempt(max(number, sealed_at), pooled, earlier=earlier)
    choice = choice_among(db, runs, versions, until=to_millis(at))
    pooled = () if choice.stored is not None else tuple(attempts.poolable(db, versions[0], runs=runs))
    number = max(number + choice.attempts, sealed_at)
    return Attempt(number, pooled, choice.stored, choice.attempts, choice.elsewhere, earlier)


def recorded_attempt(db: Db, comparison: Record[PromptComparison]) -> Attempt:
    """The attempt that a recorded comparison was, and what decided it."""
    fields = comparison.fields
    if fields.open_part:
        return Attempt(1)
    runs = (fields.benchmark_run_id_a, fields.benchmark_run_id_b)
    versions = (fields.prompt_version_a, fields.prompt_version_b)
    others, choice = attempts.compared(db, versions[0], but_for=runs, before=comparison.id), NO_CHOICE
    least = attempts_spent([*others, (versions[1], fields.benchmark_id)])
    if not _is_made_for(db, comparison.id, runs):
        together = fields.stored_results is not None
        choice = choice_among(db, runs, versions, until=to_millis(fields.compared_at), pooled=together)
    number, stored = max(least + choice.attempts, fields.attempt or 1), choice.stored
    earlier = max(len(others), number - choice.attempts - 1)
    pooled = () if stored is not None else attempts.poolable(db, versions[0], runs=runs, before=comparison.id)
    return Attempt(number, tuple(pooled), stored, choice.attempts, choice.elsewhere, earlier)


def _is_made_for(db: Db, job: str, runs: Sequence[str]) -> bool:
    """Returns whether the outputs were made for that comparison, not chosen among stored ones."""
    sides = [jobs.job_by_key(db, f"{job}:{which}") for which in ("A", "B")]
    return [side.id for side in sides if side is not None] == [*runs] and attempts.is_fresh(db, runs[1])
