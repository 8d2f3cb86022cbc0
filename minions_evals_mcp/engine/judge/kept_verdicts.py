"""What judges said before, found again; and what they say now, kept as it comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from minions_evals_mcp.domain.outcomes import NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.judges.task import Said
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import Ticket


@dataclass(slots=True, eq=False)
class KeptVerdicts:
    """The verdicts of one run. With `fresh` those of other runs are not looked at."""

    engine: Engine
    fresh: bool
    given: dict[tuple[str, str], Verdict] = field(default_factory=dict[tuple[str, str], Verdict])
    """Verdicts that are handed in right now, by test-run and criterion; written with the run that they complete."""
    pending: deque[Ticket[None]] = field(default_factory=deque[Ticket[None]])

    async def of(self, key: UnitKey, wanted: Sequence[tuple[str, jobs.VerdictKey]]) -> dict[str, tuple[Said, datetime]]:
        """The verdicts by criterion that are there already under those keys: the unit's own, else the newest.

        With `--fresh` the unit's own only.
        """
        now = self.engine.clock()
        kept: dict[str, tuple[Said, datetime]] = {
            ident: (self.given[key.run_id, ident], now) for ident, _ in wanted if (key.run_id, ident) in self.given
        }
        missing = [(ident, about) for ident, about in wanted if ident not in kept]
        if not missing:
            return kept
        found = await self.engine.store.read(
            lambda db: {
                ident: jobs.verdict(db, about, ident, only=key)
                or (None if self.fresh else jobs.verdict(db, about, ident))
                for ident, about in missing
            }
        )
        return kept | {ident: answer for ident, answer in found.items() if answer is not None}

    async def keep(self, key: UnitKey, about: jobs.VerdictKey, answer: Verdict | NotJudgeable, at: datetime) -> None:
        """Queues a verdict to be kept; the run's own record comes after it in the same queue."""
        await self.queue(partial(_save_verdict, key=key, about=about, answer=answer, at=at))

    async def queue(self, work: Callable[[Db], None]) -> None:
        """Queues a write that nobody waits for now; one that failed earlier is raised here, or by `settle`."""
        while self.pending and self.pending[0].done.is_set():
            await self.pending.popleft().result()
        self.pending.append(await self.engine.store.submit(work))

    async def settle(self) -> None:
        """Waits until every write queued so far is committed."""
        while self.pending:
            await self.pending.popleft().result()


def _save_verdict(
    db: Db, *, key: UnitKey, about: jobs.VerdictKey, answer: Verdict | NotJudgeable, at: datetime
) -> None:
    jobs.save_verdict(db, key, about, answer, at=at)
