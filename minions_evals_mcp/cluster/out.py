"""The chunks that are with workers, what is missing of each, and for how long nothing was heard of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import anyio

from minions_evals_mcp.cluster.chunks import HELD, LIVE, Outgoing
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.engine.run.units import Unit
from minions_evals_mcp.store.leases import ChunkLease

LONGEST_LOOK_S = 1.0


def listening_s(passed_s: float) -> float:
    """Returns how long the coordinator listened since it looked last: not while it, or the scheduler, was kept from it."""
    return min(passed_s, LONGEST_LOOK_S)


@dataclass(slots=True, eq=False)
class SentChunk:
    """A chunk that is with a worker, and those of its units that have not come back."""

    outgoing: Outgoing
    lease: ChunkLease
    missing: dict[UnitKey, Unit]
    left: set[UnitKey] = field(default_factory=set[UnitKey])
    """Those of them that its worker will not begin."""
    over: anyio.Event = field(default_factory=anyio.Event)
    """Set once nothing more of it comes."""
    is_lost: bool = False
    went: bool = False
    named: bool = False
    """Whether its worker named it since the last look."""
    unheard_s: float = 0.0
    """For so long the coordinator listened in vain for its worker to name it: never longer than that was silent."""

    def look(self) -> None:
        """It is over when all is back that its worker did not leave."""
        if self.missing.keys() <= self.left:
            self.over.set()

    def lose(self) -> None:
        """Its worker is lost."""
        self.is_lost = True
        self.over.set()


@dataclass(slots=True, eq=False)
class Out:
    """All of them, by the names of their leases.

    Silence is counted while the coordinator listens, and not by the clock: what it was kept from reading was not unsaid.
    """

    lease_s: float
    chunks: dict[str, SentChunk] = field(default_factory=dict[str, SentChunk])
    waited: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])
    """What is waited for, by worker: room with it, or what concerns all."""

    def news(self, worker: str) -> anyio.Event:
        """Returns what is set once there is room with that worker, or something to be known by all."""
        return self.waited.setdefault(worker, anyio.Event())

    def change(self, worker: str) -> None:
        """Wakes who waits for room with that worker."""
        if worker in self.waited:
            self.waited.pop(worker).set()

    def change_all(self) -> None:
        """Wakes whoever waits: for a chunk that is to go out again, or for the end."""
        for worker in [*self.waited]:
            self.change(worker)

    def add(self, outgoing: Outgoing, lease: ChunkLease) -> SentChunk:
        """Notes that a chunk goes to a worker."""
        missing = {unit.key: unit for unit in outgoing.units}
        self.chunks[lease.id] = sent = SentChunk(outgoing, lease, missing)
        return sent

    def remove(self, sent: SentChunk) -> None:
        """Notes that it is back, or lost: what is told of it later is another's by now."""
        self.chunks.pop(sent.lease.id, None)

    def with_worker(self, worker: str) -> list[SentChunk]:
        """The chunks that a worker has."""
        return [sent for sent in self.chunks.values() if sent.lease.worker == worker]

    def has_room(self, worker: str) -> bool:
        """Returns whether a worker may have a further chunk: one of units that come back together counts as half of what it may have."""
        held = sum(len(sent.missing) if sent.outgoing.is_live else HELD // 2 for sent in self.with_worker(worker))
        return held + LIVE <= HELD

    def missing(self, worker: str, key: UnitKey) -> SentChunk | None:
        """The chunk with which the worker has that unit, if it has."""
        return next((sent for sent in self.with_worker(worker) if key in sent.missing), None)

    def heard(self, names: Iterable[str]) -> None:
        """Notes that a worker named these chunks."""
        for sent in self.several(names):
            sent.named = True

    def several(self, names: Iterable[str]) -> list[SentChunk]:
        """Those of the named chunks that are out, and not given up."""
        return [sent for name in names if (sent := self.chunks.get(name)) is not None and not sent.is_lost]

    def listened(self, seconds: float) -> list[SentChunk]:
        """Counts so much more silence; the chunks of which nothing was heard for a lease."""
        for sent in self.chunks.values():
            sent.unheard_s = 0.0 if sent.named or not sent.went else sent.unheard_s + seconds
            sent.named = False
        return [sent for sent in self.chunks.values() if sent.unheard_s > self.lease_s and not sent.is_lost]
