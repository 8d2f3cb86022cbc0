"""When a request leaves: its latency begins where a connection is ready for it, so that no answer pays for setting one up."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import anyio

if TYPE_CHECKING:
    import httpx2
    from aiohttp import BaseConnector, ClientSession

SENDING = "send_request_headers.started"
"""What httpcore says of a request whose connection is ready, behind the protocol's name."""


@dataclass(slots=True)
class Departure:
    """The moment from which a call's latency counts: the start of the call, then its first request's departure."""

    at: float
    left: bool = False

    def leave(self) -> None:
        """The request leaves now. A later one, such as a redirect's, belongs to the same wait."""
        if not self.left:
            self.at, self.left = anyio.current_time(), True

    async def heard(self, event: str, info: object) -> None:
        """Reads httpcore's `trace`."""
        del info
        if event.endswith(SENDING):
            self.leave()


_current: ContextVar[Departure | None] = ContextVar("departure", default=None)


@contextmanager
def departing() -> Generator[Departure]:
    """Around one attempt: what is sent within it by a client of `departures_of` sets the time."""
    departure = Departure(anyio.current_time())
    token = _current.set(departure)
    try:
        yield departure
    finally:
        _current.reset(token)


def departed_at() -> float:
    """When the request of this attempt left; now where nobody measures."""
    departure = _current.get()
    return anyio.current_time() if departure is None else departure.at


class _Transport(Protocol):
    client: object

    def get_client(self) -> ClientSession: ...


def departures_of(web: type[httpx2.AsyncClient]) -> type[httpx2.AsyncClient]:
    """The SDK's client by aiohttp, which tells when a request has its connection, through a proxy too."""

    class Departing(web):
        def _init_transport(self, *args: Any, **kwargs: Any) -> httpx2.AsyncBaseTransport:
            return _traced(super()._init_transport(*args, **kwargs))

        def _init_proxy_transport(self, *args: Any, **kwargs: Any) -> httpx2.AsyncBaseTransport:
            return _traced(super()._init_proxy_transport(*args, **kwargs))

    return Departing


def _traced(made: httpx2.AsyncBaseTransport) -> httpx2.AsyncBaseTransport:
    transport = cast("_Transport", made)

    def opened() -> ClientSession:
        """The transport's own session once more, with a trace, which aiohttp takes at the making only."""
        transport.client = None
        plain = transport.get_client()
        connector = plain.connector
        plain.detach()
        return traced_session(connector)

    transport.client = opened
    return made


def traced_session(connector: BaseConnector | None, **settings: Any) -> ClientSession:
    """A session that tells when a request has its connection."""
    from aiohttp import ClientSession, TraceConfig  # noqa: PLC0415 - 0.1 s: whoever connects imports it at first use

    async def ready(session: ClientSession, context: object, params: object) -> None:
        del session, context, params
        if (departure := _current.get()) is not None:
            departure.leave()

    trace = TraceConfig()
    trace.on_connection_create_end.append(ready)
    trace.on_connection_reuseconn.append(ready)
    return ClientSession(connector=connector, trace_configs=[trace], **settings)
