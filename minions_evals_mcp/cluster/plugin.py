"""The part that runs inside a dask worker: a workshop in an event loop of its own, so that slow user code stops no heartbeat."""

from __future__ import annotations

import asyncio  # noqa: TID251  dask's loop waits for a future of the workshop's, without a thread
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal
from distributed import WorkerPlugin, get_worker, secede

from minions_evals_mcp.cluster.orders import Broke, Message, Orders, Renewed, Told
from minions_evals_mcp.cluster.setup import worker_config
from minions_evals_mcp.cluster.wire import packed, unpacked
from minions_evals_mcp.cluster.workshop import Workshop, open_workshop
from minions_evals_mcp.errors import BadInputError, EvalsError, StoppedError

if TYPE_CHECKING:
    from distributed import Worker

PROFILE = "profile"
"""What dask calls its look at a worker's threads a hundred times a second, of which it would see only one that waits."""


class _Held:
    """An open workshop, its event loop, and what closes both."""

    def __init__(self, orders: Orders, worker: Worker) -> None:
        self.deserted = threading.Event()
        self.stack = ExitStack()
        with self.stack:
            self.portal: BlockingPortal = self.stack.enter_context(start_blocking_portal("asyncio"))
            opening = partial(open_workshop, worker_config(orders.setup), orders, partial(_post, worker, orders.name))
            self.shop: Workshop = self.stack.enter_context(
                self.portal.wrap_async_context_manager(self.portal.call(opening))
            )
            self.stack = self.stack.pop_all()


def _post(worker: Worker, topic: str, messages: list[Message]) -> None:
    """Sends messages to whoever listens to the run: the scheduler passes them on in order."""
    worker.log_event(topic, {"told": packed(messages)})


class WorkshopPlugin(WorkerPlugin):
    """Opens a workshop on every worker, those that come later included."""

    idempotent = True

    def __init__(self, orders: Orders) -> None:
        self.name = orders.name
        self._orders = orders
        self._held: _Held | None = None
        self._profile: Any = None  # tornado's, which is dask's to install

    async def setup(self, worker: Worker) -> None:
        """Opens it; what is missing here (a key, a module) is raised to the coordinator."""
        self._held = await anyio.to_thread.run_sync(_Held, self._orders, worker)
        self._profile = worker.periodic_callbacks.pop(PROFILE, None)
        if self._profile is not None:
            self._profile.stop()

    async def teardown(self, worker: Worker) -> None:
        """Closes it; what is in flight is given up."""
        if self._profile is not None:
            worker.periodic_callbacks[PROFILE] = self._profile
            self._profile.start()
            self._profile = None
        if self._held is not None:
            held, self._held = self._held, None
            held.deserted.set()
            await anyio.to_thread.run_sync(held.stack.close)

    def transition(self, key: object, start: str, finish: str, **kwargs: object) -> None:
        """Begins nothing more once the coordinator is gone: the scheduler then takes the task back that stands for it."""
        del kwargs
        if start in {"executing", "long-running"} and finish == "released" and str(key).startswith(self.name):
            self.hear([None])

    def attend(self) -> None:
        """Lets units begin; returns once the coordinator is gone, or the workshop is closed."""
        if self._held is not None:
            self._held.deserted.clear()
            self._held.portal.start_task_soon(_open, self._held.shop)
            self._held.deserted.wait()

    async def carry_out(self, content: bytes) -> bytes | None:
        """Returns how the units of a chunk ended, as far as that was not sent before; None where this worker ends."""
        if self._held is None:
            return None
        return await asyncio.wrap_future(self._held.portal.start_task_soon(_carry_out, self._held.shop, content))

    def hear(self, answers: Sequence[Told | None]) -> None:
        """Hands on what the coordinator says; nothing: that no further unit begins."""
        if self._held is None:
            return
        if None in answers:
            self._held.deserted.set()
        self._held.portal.start_task_soon(_hear, self._held.shop, answers)


async def _open(shop: Workshop) -> None:
    shop.stopped = False


async def _hear(shop: Workshop, answers: Sequence[Told | None]) -> None:
    for message in answers:
        match message:
            case None:
                shop.stop_all()
            case Renewed():
                shop.renewed(message)
            case _:
                shop.line.answered(*message)


async def _carry_out(shop: Workshop, content: bytes) -> bytes | None:
    try:
        return packed(await shop.carry_out(unpacked(content)))
    except StoppedError:
        return None
    except EvalsError as error:  # some of them carry more than travels
        return packed(Broke(error.message, error.remedy, isinstance(error, BadInputError)))


async def carried_out(name: str, chunk: bytes, dask_worker: Worker) -> bytes | None:
    """Returns what came of a chunk; None where this worker does not know the run."""
    plugin = _plugin(dask_worker, name)
    return None if plugin is None else await plugin.carry_out(chunk)


def attended(name: str) -> None:
    """The task that stands for the coordinator, in a thread of its own: dask takes it back when the coordinator is lost."""
    plugin = _plugin(get_worker(), name)
    secede()
    if plugin is not None:
        plugin.attend()


def told(name: str, content: bytes, dask_worker: Worker) -> None:
    """Takes what the coordinator says."""
    plugin = _plugin(dask_worker, name)
    if plugin is not None:
        plugin.hear(unpacked(content))


def _plugin(worker: Worker, name: str) -> WorkshopPlugin | None:
    plugin = worker.plugins.get(name)
    return plugin if isinstance(plugin, WorkshopPlugin) else None
