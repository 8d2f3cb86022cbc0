"""A relay before a scheduler or a worker that keeps every byte that passes, or lets none pass: a listener, a cable that is out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute
from distributed.comm import core


@dataclass(slots=True, eq=False)
class Overheard:
    """The relay's address, and what passed through it."""

    address: str = ""
    content: bytearray = field(default_factory=bytearray)
    whole: anyio.Event = field(default_factory=anyio.Event)
    """Set while bytes pass; those that come meanwhile pass later."""

    @contextmanager
    def cut(self) -> Generator[None]:
        """Nothing passes, and no connection ends."""
        self.whole = anyio.Event()
        try:
            yield
        finally:
            self.whole.set()


async def _pass(source: ByteStream, sink: ByteStream, overheard: Overheard) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for part in source:
            await overheard.whole.wait()
            overheard.content += part
            await sink.send(part)
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await sink.send_eof()  # pyright: ignore[reportAttributeAccessIssue]  a socket's stream has it


async def _relayed(client: ByteStream, *, port: int, overheard: Overheard) -> None:
    async with client, await anyio.connect_tcp("127.0.0.1", port) as server, anyio.create_task_group() as tasks:
        tasks.start_soon(_pass, client, server, overheard)
        tasks.start_soon(_pass, server, client, overheard)


@asynccontextmanager
async def eavesdropping(address: str) -> AsyncGenerator[Overheard]:
    """A relay to that address."""
    overheard = Overheard()
    overheard.whole.set()
    relay = partial(_relayed, port=int(address.rpartition(":")[2]), overheard=overheard)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610  anyio's, and no database's
        overheard.address = f"tcp://127.0.0.1:{port}"
        tasks.start_soon(listener.serve, relay)
        yield overheard
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def between(worker: str, patch: pytest.MonkeyPatch) -> AsyncGenerator[Overheard]:
    """A relay between that worker and the coordinator in this process."""
    transport: Any = core
    connect = transport.connect
    async with eavesdropping(worker) as relay:

        async def relayed(address: str, **how: Any) -> Any:
            return await connect(relay.address if address == worker else address, **how)

        patch.setattr(core, "connect", relayed)
        yield relay
