"""A worker's own side: the same pipeline as everywhere, fed with chunks, and a line to the coordinator in place of the store."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from minions_evals_mcp.cluster.line import AskedBudget, CoordinatorConnection, SentVerdicts
from minions_evals_mcp.cluster.orders import (
    Alive,
    Back,
    Chunk,
    Message,
    Orders,
    Renewed,
    Told,
    WorkerError,
)
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine_on
from minions_evals_mcp.engine.judge.judging import Judging
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.pipeline import Endings, Health, Switch, here, next_of
from minions_evals_mcp.engine.run.unit_pages import pages_of
from minions_evals_mcp.engine.run.units import TOGETHER, Bench, Unit
from minions_evals_mcp.engine.run.versions import RunVersions
from minions_evals_mcp.errors import BadInputError, EvalsError, StoppedError, StoreError
from minions_evals_mcp.models.registry import parse_model
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import Store, Ticket
from minions_evals_mcp.store.unit_rows import Ending
from minions_evals_mcp.targets.live import ModelTarget

T = TypeVar("T")
BEATS = 12
"""How often in the time of a lease a worker says on which chunks it works."""


class NoStore(Store):
    """A worker has no store: whoever asks for one has not been told what it needs."""

    def __init__(self) -> None:
        """Opens nothing."""

    async def submit(self, work: Callable[[Db], T]) -> Ticket[T]:
        """Refused."""
        raise StoreError(f"a worker of a cluster writes to no store: {work}")

    async def read(self, work: Callable[[Db], T]) -> T:
        """Refused."""
        raise StoreError(f"a worker of a cluster reads no store: {work}")

    async def read_whole(self, work: Callable[[Db], T]) -> T:
        """Refused."""
        raise StoreError(f"a worker of a cluster reads no store: {work}")


@dataclass(slots=True, eq=False)
class _AtWork:
    """A chunk that is being carried out."""

    chunk: Chunk
    missing: int
    ended: list[tuple[UnitKey, Ending]] = field(default_factory=list[tuple[UnitKey, Ending]])
    left: list[UnitKey] = field(default_factory=list[UnitKey])
    done: anyio.Event = field(default_factory=anyio.Event)
    stopped: bool = False

    def counted(self, number: int) -> None:
        """So many more of its units are over."""
        self.missing -= number
        if not self.missing:
            self.done.set()


@dataclass(slots=True, eq=False)
class LeaseWatch:
    """Knows whether the coordinator may have given what is here to another: it did not hear of this worker for a lease."""

    lease_s: float
    heard_at: float = field(default_factory=time.monotonic)
    """When this worker said the newest that the coordinator is known to have heard."""

    woken: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_late(self) -> bool:
        """Returns whether no unit may begin until the coordinator has heard of this worker."""
        return time.monotonic() - self.heard_at > self.lease_s

    def heard(self, at: float) -> None:
        """Notes that the coordinator heard what this worker said then."""
        self.heard_at = max(self.heard_at, at)
        self.wake()

    def wake(self) -> None:
        """Has those look who wait."""
        self.woken.set()
        self.woken = anyio.Event()


@dataclass(slots=True, eq=False)
class Workshop:
    """Carries out the chunks of one run, as many units at once as the run's concurrency says, whatever chunk they are of."""

    bench: Bench
    line: CoordinatorConnection
    todo: MemoryObjectSendStream[list[Unit]]
    watch: LeaseWatch
    tasks: TaskGroup
    chunks: dict[str, _AtWork] = field(default_factory=dict[str, _AtWork])
    chunk_of: dict[int, _AtWork] = field(default_factory=dict[int, _AtWork])
    """The chunk of each unit that is at work, by the unit's identity: a lost one may come twice."""
    stopped: bool = False
    """Whether no unit is begun any more. The pipeline runs on: what it has taken ends, or is left, and is told."""
    broken: BaseException | None = None

    def hear(self, messages: Sequence[Told | None]) -> None:
        """Does what the coordinator says; nothing: that no further unit begins."""
        for message in messages:
            match message:
                case None:
                    self.stop_all()
                case Chunk():
                    self.tasks.start_soon(self._answered, message)
                case Renewed():
                    self.renewed(message)
                case _:
                    self.line.answered(*message)

    async def _answered(self, chunk: Chunk) -> None:
        """Carries a chunk out, and tells what is still to be told of it."""
        try:
            back = await self.carry_out(chunk)
        except StoppedError:
            return
        except EvalsError as error:  # some of them carry more than travels
            self.line.tell(WorkerError(error.message_text, error.remedy_text, isinstance(error, BadInputError)))
        except Exception as error:  # noqa: BLE001  the coordinator ends the run with it
            self.line.tell(
                WorkerError(f"a worker broke: {type(error).__name__}: {error}", "Report it.", is_bad_input=False)
            )
        else:
            if back.ended or back.left:
                self.line.tell(back)

    async def carry_out(self, chunk: Chunk) -> Back:
        """Returns how the chunk's units ended, but for those that were sent back before; raises what broke the pipeline."""
        at_work = self.chunks[chunk.id] = _AtWork(chunk, len(chunk.units))
        self.bench.versions.known.update(chunk.known)
        self.bench.versions.outputs.update(chunk.outputs)
        self.chunk_of |= {id(unit): at_work for unit in chunk.units}
        try:
            for page in pages_of(self.bench, chunk.units):
                self._begun(at_work, page)
            await at_work.done.wait()
        finally:
            del self.chunks[chunk.id]
        if self.broken is not None:
            raise self.broken
        return Back(chunk.id, at_work.ended, at_work.left)

    def _begun(self, at_work: _AtWork, page: list[Unit]) -> None:
        if at_work.stopped or self.stopped:
            self.left(page)
            return
        try:
            self.todo.send_nowait(page)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            self.left(page)

    async def in_time(self, todo: MemoryObjectReceiveStream[list[Unit]]) -> AsyncIterator[list[Unit]]:
        """The pages that may begin, once they may; those of what was given to another stay open.

        It never ends, as the pipeline would with it.
        """
        while (page := await next_of(todo)) is not None:
            at_work = self.chunk_of[id(page[0])]
            while self.watch.is_late and not (at_work.stopped or self.stopped):
                await self.watch.woken.wait()
            if at_work.stopped or self.stopped:
                self.left(page)
            else:
                yield page

    def left(self, units: Sequence[Unit]) -> None:
        """Notes the units that stay open."""
        for unit in units:
            at_work = self.chunk_of.pop(id(unit))
            at_work.left.append(unit.key)
            at_work.counted(1)

    def stop(self, chunk_id: str) -> None:
        """Begins none of the chunk's units any more."""
        if chunk_id in self.chunks:
            self.chunks[chunk_id].stopped = True

    async def send_back(self, done: MemoryObjectReceiveStream[Endings]) -> None:
        """Sends on how units ended: at once where that was paid for, else with the whole chunk."""
        while (endings := await next_of(done)) is not None:
            for unit, ended in endings:
                at_work = self.chunk_of.pop(id(unit))
                if at_work.chunk.is_live:
                    self.line.finish(at_work.chunk.id, unit, ended)
                else:
                    at_work.ended.append((unit.key, self.line.ready(unit, ended)))
                at_work.counted(1)

    async def beat(self) -> None:
        """Says now and then what is at work."""
        while True:
            self.line.tell(Alive(tuple(self.chunks), time.monotonic()))
            await anyio.sleep(self.watch.lease_s / BEATS)

    def renewed(self, renewed: Renewed) -> None:
        """Notes that the coordinator heard of this worker, and begins nothing more of what it gave to another."""
        for chunk_id in renewed.gone:
            self.stop(chunk_id)
        self.watch.heard(renewed.at)

    def begin(self) -> None:
        """There is a coordinator: units may begin."""
        self.line.join()
        self.stopped = False

    def cut_off(self) -> None:
        """The coordinator is gone: nothing begins, and what waits for its answer stays open."""
        self.stop_all()
        self.line.cut()

    def stop_all(self) -> None:
        """Begins nothing any more."""
        self.stopped = True
        self.watch.wake()

    def gave_up(self, error: BaseException) -> None:
        """The pipeline is broken: whoever waits for a chunk is told."""
        self.broken = error
        for at_work in self.chunks.values():
            at_work.done.set()


@dataclass(slots=True)
class Relayed(Health):
    """The coordinator tells a broken instrument from single failures: it sees what all workers see."""

    def saw(self, ended: Ending) -> None:
        """Nothing follows from it here."""
        del ended


@asynccontextmanager
async def open_workshop(
    config: EngineConfig, orders: Orders, post: Callable[[list[Message]], None]
) -> AsyncGenerator[Workshop]:
    """A workshop for those orders; raises `BadInputError` where a key is missing or the target cannot be opened."""
    line = CoordinatorConnection(post)
    todo_in, todo_out = anyio.create_memory_object_stream[list[Unit]](math.inf)
    done_in, done_out = anyio.create_memory_object_stream[Endings](TOGETHER)
    async with open_engine_on(config, NoStore()) as engine:
        bench = _bench(engine, orders, line)
        with todo_in, todo_out, done_in, done_out:
            async with anyio.create_task_group() as tasks:
                shop = Workshop(bench, line, todo_in, LeaseWatch(orders.lease_s), tasks)
                health = Relayed(Switch(), left=shop.left)
                pages = shop.in_time(todo_out)
                work = partial(here, bench, pages, done_in, health=health, workers=config.concurrency)
                tasks.start_soon(_until_broken, shop, work)
                for serve in (partial(shop.send_back, done_out), shop.beat, line.serve):
                    tasks.start_soon(serve)
                try:
                    yield shop
                finally:
                    shop.gave_up(StoppedError("the workshop was closed."))
                    tasks.cancel_scope.cancel()


async def _until_broken(shop: Workshop, work: Callable[[], Awaitable[Any]]) -> None:
    try:
        await work()
    except Exception as error:  # noqa: BLE001  it is raised in the coordinator, by every chunk that waits
        shop.gave_up(error)


def _bench(engine: Engine, orders: Orders, line: CoordinatorConnection) -> Bench:
    request = orders.request
    budget = AskedBudget(request.max_cost_usd, None, _never, line=line)
    judging = planning.judge_for(engine, request, budget, model=engine.judge_model())
    judging = Judging(judging.panel, SentVerdicts(engine, request.fresh, line=line))
    versions = RunVersions(request.prompt_version_ref)
    target = planning.target_for(engine, request, versions, budget)
    if isinstance(target, ModelTarget):
        engine.models.client(parse_model(target.name))  # a missing key is refused before anything runs
    return Bench(engine, request, judging, target, versions, orders.frame, budget=budget)


def _never(reason: str) -> None:
    """The coordinator stops the run, not a worker."""
    raise AssertionError(reason)
