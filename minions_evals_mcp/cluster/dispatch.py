"""One pass of a run over the workers: chunks go out under leases, what comes back is passed on to be written."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from minions_evals_mcp.cluster.channel import Channel, Channels
from minions_evals_mcp.cluster.chunks import TOGETHER, Chunks, Outgoing
from minions_evals_mcp.cluster.crew import Crew
from minions_evals_mcp.cluster.orders import Chunk, Message, Orders
from minions_evals_mcp.cluster.out import Out, SentChunk, listening_s
from minions_evals_mcp.cluster.permits import Permits
from minions_evals_mcp.cluster.returns import Returns
from minions_evals_mcp.cluster.wire import unpacked_masked
from minions_evals_mcp.domain.outcomes import TargetErrored
from minions_evals_mcp.engine.run.pipeline import Health
from minions_evals_mcp.engine.run.units import Bench, Unit
from minions_evals_mcp.errors import InstrumentError
from minions_evals_mcp.store import leases
from minions_evals_mcp.store.leases import ChunkLease, LeaseEnding

log = structlog.get_logger()
TRIES = 3
"""A unit that was with so many workers when they were lost is not sent out any more."""
LOOK_S = 0.5
ALL = ""
"""No worker's address: who waits under it waits for what concerns all."""


@dataclass(slots=True, eq=False)
class Dispatch:
    """Sends the chunks of one pass out, and keeps count of what is where."""

    crew: Crew
    channels: Channels
    bench: Bench
    orders: Orders
    chunks: Chunks
    health: Health
    permits: Permits
    out: Out
    returns: Returns
    staff: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])
    """The workers that chunks are sent to; the event is set once one is lost."""
    silent: set[str] = field(default_factory=set[str])
    """Workers of which nothing was heard for a lease: they get nothing until something is."""
    refused: set[str] = field(default_factory=set[str])
    """Workers that are not set up alike, or cannot be reached from here."""
    suspects: anyio.Lock = field(default_factory=anyio.Lock)
    taking: int = 0
    judged_at: float = -math.inf
    without_s: float = 0.0
    """For so long there has been no worker."""

    @property
    def is_over(self) -> bool:
        """Returns whether nothing is out, and nothing more goes out."""
        return not self.out.chunks and not self.taking and (self.health.switch.is_off or self.chunks.are_out)

    # --- what goes out

    async def feed(self, tasks: TaskGroup, worker: str, lost: anyio.Event) -> None:
        """Sends chunks to a worker, the next once there is room for one, until there are no more or it is lost."""
        while not (lost.is_set() or self.health.switch.is_off or self.is_over):
            if self.chunks.are_out or not self.out.has_room(worker):  # what is out may come back undone
                await self.out.news(worker).wait()
                continue
            with self._taking():
                outgoing = await self.chunks.next()
                sent = None if outgoing is None else self._leased(worker, outgoing)
            if sent is not None:
                tasks.start_soon(self._carried_out, sent)

    @contextmanager
    def _taking(self) -> Generator[None]:
        """Between chunks and workers a unit is neither here nor there."""
        self.taking += 1
        try:
            yield
        finally:
            self.taking -= 1
            self._look()

    def _look(self) -> None:
        """Wakes all where something is to go out again, or nothing goes out any more."""
        if self.is_over or self.chunks.again or self.health.switch.is_off:
            self.out.change_all()

    async def _carried_out(self, sent: SentChunk) -> None:
        """Sends a chunk out and waits until it is back, or lost; one that was with lost workers goes when no other such is out."""
        try:
            async with self.suspects if sent.outgoing.attempt > TOGETHER else nullcontext():
                if sent.is_lost:
                    self.chunks.again.append(sent.outgoing)
                else:
                    await self._out_and_back(sent)
        finally:
            self.out.remove(sent)
            self.out.change(sent.lease.worker)
            self._look()

    async def _out_and_back(self, sent: SentChunk) -> None:
        await self._granted(sent)
        if not sent.is_lost:
            self.channels.tell(sent.lease.worker, self._chunk(sent))
        await sent.over.wait()
        ending: LeaseEnding = "lost" if sent.is_lost else "stopped" if sent.missing else "returned"
        await self._ended(sent, ending)

    def _leased(self, worker: str, outgoing: Outgoing) -> SentChunk:
        keys = [unit.key for unit in outgoing.units]
        lease = ChunkLease(self.orders.job_id, outgoing.chunk, outgoing.attempt, worker, keys)
        return self.out.add(outgoing, lease)

    def _chunk(self, sent: SentChunk) -> Chunk:
        versions, outgoing = self.bench.versions, sent.outgoing
        outputs = dict(versions.outputs)  # a read of the next units may add to them while these are packed
        return Chunk(sent.lease.id, outgoing.units, versions.known, outputs, outgoing.is_live)

    async def _granted(self, sent: SentChunk) -> None:
        at, lease = self.bench.engine.clock(), sent.lease
        grant = partial(leases.grant, lease=lease, at=at, lasts=timedelta(seconds=self.orders.lease_s))
        await self.bench.engine.store.write(
            grant
        )  # committed before anything goes out: what may be called twice is known
        sent.went = sent.named = True

    async def _ended(self, sent: SentChunk, ending: LeaseEnding) -> None:
        """Ends the lease; what its worker says of the chunk from now on comes too late, for the rest goes out again."""
        undone = list(sent.missing.values())
        with self._taking():
            self.out.remove(sent)
            await self.returns.end(sent.lease, ending, len(sent.lease.units) - len(undone))
            if undone and not self.health.switch.is_off:
                await self._again(sent.outgoing, undone)

    async def _again(self, outgoing: Outgoing, undone: list[Unit]) -> None:
        if outgoing.attempt < TRIES:
            self.chunks.back(outgoing, undone)
            return
        reason = f"the worker that carried it out was lost, {TRIES} times"
        await self.returns.pass_on([(unit, TargetErrored(reason)) for unit in undone])

    # --- who comes and goes

    async def watch(self, tasks: TaskGroup) -> None:
        """Looks who is there, what has expired, and whether the run is stopped; returns when all is over."""
        warned, looked = False, -math.inf
        while not self.is_over:
            changed = self.out.news(ALL)
            if anyio.current_time() - looked >= LOOK_S:  # a unit that comes back is no reason to ask the scheduler
                looked = anyio.current_time()
                there = await self.crew.workers()  # meanwhile what has arrived is read
                self._met(tasks, there)
                self._judge(there)
                await self.returns.renew()
                self.health.switch.look()
            if self.health.switch.is_off and not warned:
                warned = True
                self.channels.tell_all(None)
            with anyio.move_on_after(LOOK_S):
                await changed.wait()

    def hear(self, worker: str, message: Message) -> None:
        """Takes a message of a worker, which may have been silent."""
        self.silent.discard(worker)
        self.returns.hear(worker, message)

    def noticed(self, event: Mapping[str, object]) -> None:
        """Hears from the scheduler that a worker is gone: one that comes back under the same address is another."""
        worker = str(event.get("worker"))
        if event.get("action") == "remove-worker":
            self.refused.discard(worker)
            self._gone(worker)

    def _met(self, tasks: TaskGroup, there: set[str]) -> None:
        for worker in there - self.staff.keys() - self.silent:
            lost = self.staff[worker] = anyio.Event()
            self.permits.meet(worker)
            tasks.start_soon(self._welcomed, tasks, worker, lost)
        for worker in self.staff.keys() - there:
            self._lost(worker)

    async def _welcomed(self, tasks: TaskGroup, worker: str, lost: anyio.Event) -> None:
        """Sends chunks to a worker, once it is known to be set up alike and there is a way to it."""
        if await self._is_ready(worker, lost) and await self._is_connected(tasks, worker, lost):
            await self.feed(tasks, worker, lost)

    async def _is_connected(self, tasks: TaskGroup, worker: str, lost: anyio.Event) -> bool:
        """Opens a channel to the worker, unless there is one: one of which nothing was heard for a while may speak again."""
        while not lost.is_set() and worker not in self.channels.by_worker:
            try:
                channel = await self.crew.connected(worker, self.orders.name)
            except OSError as error:
                await self._out_of_reach(worker, lost, str(error))
                continue
            if lost.is_set():
                channel.end()
            else:
                self.refused.discard(worker)
                self.channels.by_worker[worker] = channel
                tasks.start_soon(self._listen, worker, channel)
        return not lost.is_set()

    async def _out_of_reach(self, worker: str, lost: anyio.Event, reason: str) -> None:
        """Counts the worker as none until it is tried again; one that is lost is no more spoken of."""
        if not lost.is_set():
            if worker not in self.refused:
                log.warning("cluster-worker-unreachable", worker=worker, reason=reason)
            self.refused.add(worker)
            await anyio.sleep(LOOK_S)

    async def _listen(self, worker: str, channel: Channel) -> None:
        """Hears a worker until its channel ends: then it is lost."""

        def hear(content: bytes) -> None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the run has ended
                for message in unpacked_masked(content):
                    self.hear(worker, message)

        await channel.serve(hear)
        if self.channels.by_worker.get(worker) is channel:
            self._gone(worker)

    def _gone(self, worker: str) -> None:
        """What is there under that address from now on is another."""
        self.silent.discard(worker)
        self.channels.end(worker)
        if worker in self.staff:
            self._lost(worker)

    async def _is_ready(self, worker: str, lost: anyio.Event) -> bool:
        """Waits until the worker has the run's plugin; not for one that is lost, or not set up alike."""
        while not lost.is_set():
            if await self.crew.is_unlike(worker):
                log.warning("cluster-worker-refused", worker=worker)
                self.refused.add(worker)
                return False
            if await self.crew.has_plugin(worker, self.orders.name):
                return True
            await anyio.sleep(LOOK_S)
        return False

    def _lost(self, worker: str) -> None:
        log.warning("cluster-worker-lost", worker=worker)
        if worker in self.staff:
            self.staff.pop(worker).set()
        self.permits.lose(worker)
        for sent in self.out.with_worker(worker):
            sent.lose()
        self.out.change(worker)

    def _judge(self, there: set[str]) -> None:
        """Gives up what was not heard of for a lease; raises `InstrumentError` where for so long no worker is left."""
        now = anyio.current_time()
        listened_s, self.judged_at = listening_s(now - self.judged_at), now
        for sent in self.out.listened(listened_s):
            log.warning("cluster-lease-expired", worker=sent.lease.worker, chunk=sent.lease.chunk)
            self.silent.add(sent.lease.worker)
            self._lost(sent.lease.worker)
        is_served = there - self.refused or self.health.switch.is_off
        self.without_s = 0.0 if is_served else self.without_s + listened_s
        if self.without_s > self.orders.lease_s:
            raise InstrumentError(
                f"no worker is left at {self.crew.address} that can be reached from here.",
                remedy=f"Start some: dask worker {self.crew.address}; then resume with --key.",
            )
