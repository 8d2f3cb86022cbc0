"""The progress of a run, told to who watches; what it spends is written down on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.domain.results import UNSCORED, Outcome
from minions_evals_mcp.engine.run.pipeline import Health, Progress
from minions_evals_mcp.engine.run.units import Bench
from minions_evals_mcp.engine.standing import RunProgress
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.jobs import Job

SPENT_EVERY = 20
"""After so many units what was spent so far is written down."""


@dataclass(slots=True, eq=False)
class Tally:
    """The progress of a run: what was settled before this start, and what its passes add."""

    job: Job
    bench: Bench
    settled: int
    done: int = 0
    failed: int = 0
    health: Health | None = None

    def tell(self) -> None:
        """Tells who watches."""
        job, bench = self.job, self.bench
        counts = Counter[Outcome]() if self.health is None else self.health.counts
        is_told = self.health is not None and bench.seal is None
        failed = self.health.failed if self.health is not None and is_told else 0
        self.failed = max(self.failed, failed)
        budget = bench.budget
        standing = RunProgress(
            job.id,
            total=job.total,
            done=min(job.total, self.settled + self.done),
            failed=min(self.failed, self.done),  # told of once it is kept, as what is done
            unscored=sum(counts[outcome] for outcome in UNSCORED),
            spent_usd=None if budget.unpriced else budget.earlier_usd + budget.spent_usd,
            key=bench.request.comparison_id or job.key,
        )
        bench.engine.watch(standing)

    async def add(self, outcomes: Sequence[Outcome], *, progress: Progress) -> None:
        """Counts units that were committed; what was spent is written down now and then, so that a kill loses little of it."""
        begun = self.done // SPENT_EVERY
        self.done += len(outcomes)
        self.tell()
        if self.done // SPENT_EVERY > begun and (spent := self.bench.budget.news()):
            await self.bench.judging.kept.queue(partial(jobs.add_spent, ident=self.job.id, spent=spent))
        for outcome in outcomes:
            await progress(outcome)
