"""The server of every listening socket: limits of connections, seconds and bytes, whatever a caller sends or does not send."""

from __future__ import annotations

import asyncio  # noqa: TID251  uvicorn's protocols are asyncio's
import logging
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast

import anyio
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

if TYPE_CHECKING:
    from starlette.types import ASGIApp

QUEUED = 512
"""Connections that the system holds until they are taken."""
OWN_DESCRIPTORS = 64
"""So many files, pipes and sockets of its own the server keeps free of callers."""
ON_THE_WAY = 6
"""So many turns of the event loop a connection may take from being accepted to being refused and closed."""
GRACE_S = 2.0
"""A connection whose request is not complete after this time makes way for a new one where all places are taken."""
RETRY_AFTER_S = 5
PHRASES = {408: "Request Timeout", 413: "Content Too Large", 503: "Service Unavailable"}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Connections in all and for each address; how many are accepted in one turn; seconds for a head and a body; bytes of a body."""

    connections: int = 512
    each: int = 384
    at_once: int = 32
    head_s: float = 10.0
    body_s: float = 30.0
    body_bytes: int = 6_000_000


def bounds_within(descriptors: int) -> ConnectionLimits:
    """The bounds of a process that may hold so many descriptors: it never runs out of them."""
    at_once = max(4, min(descriptors, 1024) // 32)
    most = max(8, min(512, descriptors - OWN_DESCRIPTORS - ON_THE_WAY * at_once))
    return ConnectionLimits(connections=most, each=most * 3 // 4, at_once=at_once)


def own_bounds() -> ConnectionLimits:
    """The bounds of this process."""
    if sys.platform == "win32":  # pragma: no cover  it has no such limit
        return ConnectionLimits()
    import resource  # noqa: PLC0415  there is none elsewhere

    return bounds_within(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


class PlaceTaker(Protocol):
    """A connection that holds a place, of whatever protocol."""

    def is_overdue(self) -> bool:
        """Whether its request has been incomplete for so long that another caller may have the place."""
        ...

    def refuse(self, status: int) -> None:
        """Ends it, for that reason."""
        ...


@dataclass(slots=True, eq=False)
class Places:
    """The connections that are open, oldest first. Listeners of one process can share them."""

    bounds: ConnectionLimits
    taken: dict[PlaceTaker, str] = field(default_factory=dict[PlaceTaker, str])

    def admit(self, new: PlaceTaker, address: str) -> bool:
        """Returns whether there is a place: a free one, else that of the oldest connection whose request is overdue."""
        same = [connection for connection, its in self.taken.items() if its == address]
        crowd = same if len(same) >= self.bounds.each else list(self.taken)
        if len(same) >= self.bounds.each or len(self.taken) >= self.bounds.connections:
            overdue = next((connection for connection in crowd if connection.is_overdue()), None)
            if overdue is None:
                return False
            self.leave(overdue)
            overdue.refuse(408)
        self.taken[new] = address
        return True

    def leave(self, gone: PlaceTaker) -> None:
        """Frees the place of a connection, where it had one."""
        self.taken.pop(gone, None)


class BoundedConnection(H11Protocol):
    """One caller's connection. A request that does not arrive whole in time is answered 408, one too many 503."""

    places: ClassVar[Places]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._awaited: Literal["head", "body"] | None = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  as uvicorn has it
        """Takes a place, or is told to come again."""
        super().connection_made(transport)
        if self.places.admit(self, self.client[0] if self.client else ""):
            self._watch()
        else:
            _log.warning("all places are taken: a connection was refused")
            self.refuse(503)

    def connection_lost(self, exc: Exception | None) -> None:
        """Gives the place back."""
        self.places.leave(self)
        self._unwatch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes what came, unless it is too much."""
        super().data_received(data)
        self._watch()
        if self._awaited == "body":
            self._body_bytes += len(data)
            if self._body_bytes > self.places.bounds.body_bytes:
                self.refuse(413)

    def on_response_complete(self) -> None:
        """The next request has all its time again."""
        super().on_response_complete()
        self._watch()

    def is_overdue(self) -> bool:
        """Returns whether the request has been incomplete for so long that another caller may have the place."""
        return self._awaited is not None and self.loop.time() - self._since > GRACE_S

    def refuse(self, status: int) -> None:
        """Ends the connection, with that status where nothing was answered yet."""
        self._unwatch()
        if self.transport.is_closing():
            return
        if self._is_answering():
            self.transport.abort()
            return
        phrase = PHRASES[status]
        again = f"retry-after: {RETRY_AFTER_S}\r\n" if status == 503 else ""
        head = f"HTTP/1.1 {status} {phrase}\r\n{again}connection: close\r\ncontent-type: text/plain\r\ncontent-length: {len(phrase)}"
        self.transport.write(f"{head}\r\n\r\n{phrase}".encode())
        self.transport.close()

    def _is_answering(self) -> bool:
        """Returns whether an answer has begun and is not over. There is no cycle before the first request, whatever its type says."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and cycle.response_started and not cycle.response_complete

    def _watch(self) -> None:
        """Sets the clock for what is awaited now, and only once for each."""
        state = self.conn.their_state
        awaited = "head" if state is h11.IDLE else "body" if state is h11.SEND_BODY else None
        if awaited == self._awaited or self.transport.is_closing():
            return
        self._unwatch()
        if awaited is not None:
            bounds = self.places.bounds
            self._awaited = awaited
            self._since = self.loop.time()
            self._timer = self.loop.call_later(bounds.head_s if awaited == "head" else bounds.body_s, self.refuse, 408)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._awaited, self._body_bytes = None, None, 0


class BoundedServer(uvicorn.Server):
    """A web server within those bounds. No more connections are taken in one turn than the process has descriptors for."""

    def __init__(
        self,
        app: ASGIApp,
        bounds: ConnectionLimits | Places,
        *,
        closing_s: int,
        lifespan: Literal["auto", "off"] = "auto",
    ) -> None:
        places = bounds if isinstance(bounds, Places) else Places(bounds)
        super().__init__(
            uvicorn.Config(
                app,
                http=bounded(places),
                backlog=places.bounds.at_once,
                log_config=None,
                access_log=False,
                ws="none",
                server_header=False,
                lifespan=lifespan,
                timeout_graceful_shutdown=closing_s,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens; those who are not taken in this turn wait in the system's queue."""
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(QUEUED)

    @asynccontextmanager
    async def listening(self, bound: socket.socket) -> AsyncGenerator[None]:
        """Serves as long as this lasts, beside other work: the signals of the process are not the server's."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup([bound])
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self.lifespan.shutdown()  # first, so that streams that would never end do
                self.force_exit = True
                await self.shutdown([bound])


def bounded(places: Places) -> type[BoundedConnection]:
    """The connections of one server, which share their places."""
    return type("BoundedConnection", (BoundedConnection,), {"places": places})
