"""The connection of a coordinator with a worker: messages either way, in order, over dask's own transport and its TLS."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio

from minions_evals_mcp.cluster.orders import Told
from minions_evals_mcp.cluster.wire import packed


@dataclass(slots=True, eq=False)
class Channel:
    """One end of it. What is sent together travels together."""

    comm: Any  # dask's, untyped in what it reads
    unsent: list[bytes] = field(default_factory=list[bytes])
    wake: anyio.Event = field(default_factory=anyio.Event)

    def send(self, content: bytes) -> None:
        """Sends it before long; what is sent once the connection has ended is lost."""
        self.unsent.append(content)
        self.wake.set()

    async def serve(self, hear: Callable[[bytes], object]) -> None:
        """Sends, and hands on what comes; returns when the connection has ended, and ends it when cancelled."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._write)
                with suppress(OSError):
                    while True:
                        for content in await self.comm.read():
                            hear(content)
                tasks.cancel_scope.cancel()
        finally:
            self.end()

    def end(self) -> None:
        """Ends the connection, whatever was not sent yet."""
        self.comm.abort()

    async def _write(self) -> None:
        with suppress(OSError):
            while True:
                await self.wake.wait()
                self.wake, contents, self.unsent = anyio.Event(), self.unsent, []
                await self.comm.write(contents)
        self.end()  # whoever reads hears of it


@dataclass(slots=True, eq=False)
class Channels:
    """The coordinator's ends of a run's channels, by worker."""

    by_worker: dict[str, Channel] = field(default_factory=dict[str, Channel])

    def tell(self, worker: str, message: Told | None) -> None:
        """Tells a worker, if there is a way to it."""
        if worker in self.by_worker:
            self.by_worker[worker].send(packed([message]))

    def tell_all(self, message: Told | None) -> None:
        """Tells every worker."""
        for worker in self.by_worker:
            self.tell(worker, message)

    def end(self, worker: str) -> None:
        """Ends the way to a worker, if there is one."""
        if worker in self.by_worker:
            self.by_worker.pop(worker).end()
