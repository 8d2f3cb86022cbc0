"""The part that runs inside a dask worker: a workshop in an event loop of its own, so that slow user code stops no heartbeat."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal
from distributed import WorkerPlugin

from minions_evals_mcp.cluster.channel import Channel
from minions_evals_mcp.cluster.orders import Message, Orders
from minions_evals_mcp.cluster.setup import worker_config
from minions_evals_mcp.cluster.wire import packed, unpacked
from minions_evals_mcp.cluster.workshop import Workshop, open_workshop

if TYPE_CHECKING:
    from distributed import Worker
    from distributed.comm.core import Comm

LOOKS = ("profile", "tick")
"""What dask calls its looks at a worker's threads, of which it would see only those that wait, and at its loop."""
SELDOM_MS = 1000.0
"""So often is enough: as dask has them, a hundred and fifty times a second, they are a tenth of a worker's work."""


class _Held:
    """An open workshop, its event loop, and what closes both."""

    def __init__(self, orders: Orders, post: Callable[[list[Message]], None]) -> None:
        self.stack = ExitStack()
        with self.stack:
            self.portal: BlockingPortal = self.stack.enter_context(start_blocking_portal("asyncio"))
            opening = partial(open_workshop, worker_config(orders.setup), orders, post)
            self.shop: Workshop = self.stack.enter_context(
                self.portal.wrap_async_context_manager(self.portal.call(opening))
            )
            self.stack = self.stack.pop_all()


class WorkshopPlugin(WorkerPlugin):
    """Opens a workshop on every worker, those that come later included, and a door for the coordinator."""

    idempotent = True

    def __init__(self, orders: Orders) -> None:
        self.name = orders.name
        self._orders = orders
        self._held: _Held | None = None
        self._channel: Channel | None = None
        self._paces: dict[str, float] = {}

    async def setup(self, worker: Worker) -> None:
        """Opens it; what is missing here (a key, a module) is raised to the coordinator."""
        self._held = await anyio.to_thread.run_sync(_Held, self._orders, partial(self._post, worker))
        worker.handlers[self.name] = self.converse
        looks = ((name, worker.periodic_callbacks[name]) for name in LOOKS if name in worker.periodic_callbacks)
        for name, look in looks:
            if look.callback_time != SELDOM_MS:  # else another run's plugin has done so
                self._paces[name], look.callback_time = look.callback_time, SELDOM_MS

    async def teardown(self, worker: Worker) -> None:
        """Closes it; what is in flight is given up."""
        for name, pace in self._paces.items():
            worker.periodic_callbacks[name].callback_time = pace
        worker.handlers.pop(self.name, None)
        if self._channel is not None:
            self._channel.end()
        if self._held is not None:
            held, self._held = self._held, None
            await anyio.to_thread.run_sync(held.stack.close)

    async def converse(self, comm: Comm) -> None:
        """Serves the coordinator's channel; once it has ended, the coordinator is gone, and nothing more begins."""
        held = self._held
        if held is None:
            comm.abort()
            return
        self._channel = channel = Channel(comm)
        held.portal.start_task_soon(held.shop.begin)
        await channel.serve(lambda content: held.portal.start_task_soon(_hear, held.shop, content))
        if self._channel is channel:
            self._channel = None
            if self._held is not None:
                held.portal.start_task_soon(held.shop.cut_off)

    def _post(self, worker: Worker, messages: list[Message]) -> None:
        """Sends messages to the coordinator, from the workshop's thread."""
        worker.loop.add_callback(self._say, packed(messages))

    def _say(self, content: bytes) -> None:
        if self._channel is not None:
            self._channel.send(content)


def _hear(shop: Workshop, content: bytes) -> None:
    shop.hear(unpacked(content))
