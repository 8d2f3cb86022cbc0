"""A cluster as the place where a run's units are carried out."""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from minions_evals_mcp.cluster.address import parse_cluster
from minions_evals_mcp.cluster.channel import Channels
from minions_evals_mcp.cluster.chunks import Chunks
from minions_evals_mcp.cluster.crew import Crew, open_crew
from minions_evals_mcp.cluster.dispatch import Dispatch
from minions_evals_mcp.cluster.orders import Orders
from minions_evals_mcp.cluster.out import Out
from minions_evals_mcp.cluster.permits import Permits
from minions_evals_mcp.cluster.plugin import WorkshopPlugin
from minions_evals_mcp.cluster.returns import Heard, Returns
from minions_evals_mcp.cluster.setup import setup_of
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunSettings
from minions_evals_mcp.engine.run.pipeline import Done, Health, Pages, Place, parted, received
from minions_evals_mcp.engine.run.units import TOGETHER, Bench
from minions_evals_mcp.errors import EvalsError, InstrumentError, UnsupportedError
from minions_evals_mcp.store import leases

CLOSING_S = 5.0
GATHERED_S = 0.05
"""So long what came of units waits to be written together with more of it; its lease is open until then."""
ROOM = TOGETHER
"""So many parts of what came wait at the most."""
LEASE_S = 60.0
"""So long a worker may say nothing of its units before they go to another."""


@asynccontextmanager
async def open_cluster(engine: Engine, request: RunSettings, address: str) -> AsyncGenerator[Place]:
    """The cluster at that address, its workers set up as this engine is: to be given to the run.

    Raises before anything runs: `BadInputError` for an address that is none, and for a worker that would not do the same
    work; `UnsupportedError` where the extra is not installed; `InstrumentError` where nobody answers.
    """
    where = parse_cluster(address)
    async with open_crew(where, engine.config, request.target) as crew:
        yield Cluster(crew)


@asynccontextmanager
async def _gathering(done: MemoryObjectSendStream[Done]) -> AsyncGenerator[MemoryObjectSendStream[Done]]:
    """A way to the writer on which what comes within a moment goes in one go: a write costs what a dozen of its rows do."""
    parts_in, parts_out = anyio.create_memory_object_stream[Done](ROOM)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_gathered, parts_out, done)
        async with parts_in:
            yield parts_in


async def _gathered(parts: MemoryObjectReceiveStream[Done], done: MemoryObjectSendStream[Done]) -> None:
    """Passes on what is sent, in order, also what was sent before a run was broken off: it was paid for."""
    with anyio.CancelScope(shield=True), suppress(anyio.BrokenResourceError):
        async with parts:
            async for first in parts:
                await anyio.sleep(GATHERED_S)
                endings, behind = parted([first, *received(parts)])
                if endings:
                    await done.send(endings)
                for write in behind:
                    await done.send(write)


@dataclass(frozen=True, slots=True)
class Cluster:
    """The workers of a scheduler, set up as this engine is."""

    crew: Crew

    async def __call__(
        self, bench: Bench, pages: Pages, done: MemoryObjectSendStream[Done], *, health: Health, workers: int
    ) -> None:
        """Carries the units out, `workers` at once on each worker."""
        orders = await self._orders(bench)
        places = workers * max(1, len(await self.crew.workers()))
        newest = await bench.engine.store.write(
            partial(leases.take_over, job_id=orders.job_id, at=bench.engine.clock())
        )
        heard_in, heard_out = anyio.create_memory_object_stream[Heard](math.inf)
        chunks = Chunks(bench, pages, newest)
        permits = Permits(bench.budget, places)
        out, channels = Out(orders.lease_s), Channels()
        async with _gathering(done) as gathered:
            returns = Returns(channels, bench, orders, gathered, health, permits, out, heard_in)
            dispatch = Dispatch(self.crew, channels, bench, orders, chunks, health, permits, out, returns)
            async with heard_in, heard_out, self._listening(dispatch), anyio.create_task_group() as tasks:
                tasks.start_soon(returns.listen, tasks, heard_out)
                await dispatch.watch(tasks)
                tasks.cancel_scope.cancel()

    async def _orders(self, bench: Bench) -> Orders:
        job_id = bench.frame.benchmark_run_id
        if job_id is None or bench.seal is not None:
            raise UnsupportedError(
                "what is sealed is not sent to the workers of a cluster."
                if bench.seal
                else "only benchmarks run on a cluster.",
                remedy="Leave --cluster out.",
            )
        return Orders(job_id, secrets.token_hex(4), setup_of(self.crew.config), bench.request, bench.frame, LEASE_S)

    @asynccontextmanager
    async def _listening(self, dispatch: Dispatch) -> AsyncGenerator[None]:
        """The run's plugin on every worker, and what the scheduler says of them brought to the dispatch."""
        client: Any = self.crew.client
        name = dispatch.orders.name

        def changed(event: tuple[float, dict[str, object]]) -> None:
            dispatch.noticed(event[1])

        try:
            await client.register_plugin(WorkshopPlugin(dispatch.orders), name)
        except EvalsError as error:
            raise InstrumentError(
                f"a worker of {self.crew.address}: {error.message_text}", remedy="Set it there."
            ) from error
        client.subscribe_topic("all", changed)
        try:
            yield
        finally:
            client.unsubscribe_topic("all")
            with anyio.move_on_after(CLOSING_S, shield=True), suppress(OSError):
                await client.unregister_worker_plugin(name)
