"""Earlier verdicts of judges, found again; and what they say now, kept as it comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import ClassVar

import anyio

from minions_evals_mcp.domain.outcomes import NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.judges.task import Said
from minions_evals_mcp.store import jobs, talks
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import Ticket

Wanted = tuple[UnitKey, str, jobs.VerdictKey]
"""A unit, a criterion, and what a verdict on them is kept under."""
Given = dict[str, tuple[Said, datetime]]
"""What judges said of one output and when, by criterion."""


@dataclass(slots=True, eq=False)
class KeptVerdicts:
    """The verdicts of one run. With `fresh` those of other runs are not looked at."""

    engine: Engine
    fresh: bool
    sealed: bool = False
    """Whether the run is made under a seal: only such a run finds verdicts on what is sealed."""
    given: dict[tuple[str, str], Verdict] = field(default_factory=dict[tuple[str, str], Verdict])
    """Verdicts that are handed in right now, by test-run and criterion; written with the run that they complete."""
    pending: deque[Ticket[None]] = field(default_factory=deque[Ticket[None]])
    outputs: deque[jobs.UnitRow] = field(default_factory=deque[jobs.UnitRow])
    """Outputs that the next write takes along: those that are made while the writer is busy are written in one go."""
    waits: ClassVar = True
    """Whether a conversation can be left open until its user answers."""
    taking: _Outputs | None = None
    """The newest write of outputs that was queued."""
    queueing: anyio.Lock = field(default_factory=partial(anyio.Lock, fast_acquire=True))

    async def of(self, wanted: Sequence[Wanted]) -> dict[UnitKey, Given]:
        """The verdicts by unit and criterion that are there already: those handed in now, the unit's own, else the newest."""
        now = self.engine.clock()
        verdicts: dict[UnitKey, Given] = {}
        missing: list[Wanted] = []
        for key, ident, about in wanted:
            if (key.run_id, ident) in self.given:
                verdicts.setdefault(key, {})[ident] = self.given[key.run_id, ident], now
            else:
                missing.append((key, ident, about))
        for (key, ident, _), answer in zip(missing, await self.stored(missing), strict=True):
            if answer is not None:
                verdicts.setdefault(key, {})[ident] = answer
        return verdicts

    async def stored(self, wanted: Sequence[Wanted]) -> list[tuple[Said, datetime] | None]:
        """Returns what the store has of each; with `--fresh` the unit's own only."""
        if not wanted:
            return []
        return await self.engine.store.read_for(
            lambda db: [
                jobs.verdict(db, about, ident, only=key) or (None if self.fresh else jobs.verdict(db, about, ident))
                for key, ident, about in wanted
            ],
            sealed=self.sealed,
        )

    async def keep(self, key: UnitKey, about: jobs.VerdictKey, answer: Verdict | NotJudgeable, at: datetime) -> None:
        """Queues a verdict to be kept; the run's own record comes after it in the same queue."""
        await self.queue(partial(_save_verdict, key=key, about=about, answer=answer, at=at))

    async def keep_output(self, output: jobs.UnitRow) -> None:
        """Queues an output to be kept, before it is judged: it was paid for. What is queued from now on comes after it."""
        self.outputs.append(output)
        async with self.queueing:
            if self.taking is None or self.taking.begun:  # else the write that is queued takes it along
                write = _Outputs(self.outputs)
                await self.queue(write)
                self.taking = write

    async def begun_talk(self, key: UnitKey) -> talks.TalkRow | None:
        """The last attempt at the conversation of that unit, of an earlier start of the run."""
        return await self.engine.store.read_whole(partial(talks.newest, key=key))

    async def keep_talk(self, row: talks.TalkRow) -> None:
        """Keeps how far a conversation is; returns once it is committed: its last answer was paid for."""
        await self.engine.store.write(partial(talks.save, row=row))

    async def queue(self, work: Callable[[Db], None]) -> None:
        """Queues a write that nobody waits for now; one that failed earlier is raised here, and tried again by `settle`."""
        while self.pending and self.pending[0].done.is_set():
            vet_written(self.pending)
            self.pending.popleft()
        self.pending.append(await self.engine.store.submit(work))

    async def settle(self) -> None:
        """Waits until every write queued so far is committed, and every output whose queueing was broken off.

        One that failed is tried once more: what it keeps was paid for.
        """
        if self.outputs:
            self.pending.append(await self.engine.store.submit(_Outputs(self.outputs)))
        while self.pending:
            ticket = self.pending.popleft()
            await ticket.done.wait()
            if ticket.error is not None:
                await self.engine.store.write(ticket.work)


def vet_written(tickets: Iterable[Ticket[None]]) -> None:
    """Raises what one of those writes failed with, so that nothing is written that comes after it."""
    for ticket in tickets:
        if ticket.error is not None:
            raise ticket.error


@dataclass(slots=True, eq=False)
class _Outputs:
    """The write of all outputs that wait when its turn comes; the same ones should it have to be tried again."""

    waiting: deque[jobs.UnitRow]
    taken: list[jobs.UnitRow] = field(default_factory=list[jobs.UnitRow])
    begun: bool = False
    """Whether it may take along no more than it has."""

    def __call__(self, db: Db) -> None:
        self.begun = True
        while self.waiting:
            self.taken.append(self.waiting.popleft())
        jobs.save_units(db, self.taken)


def _save_verdict(
    db: Db, *, key: UnitKey, about: jobs.VerdictKey, answer: Verdict | NotJudgeable, at: datetime
) -> None:
    jobs.save_verdict(db, key, about, answer, at=at)
