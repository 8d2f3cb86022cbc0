"""The HTTP client of everything of ours that asks another machine.

What was meant for one server is sent to no other: a redirect is followed on the same host only. A reply has a limit of bytes, unpacked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl

    import httpx2

    Web = TypeVar("Web", bound=httpx2.AsyncClient)

MOST_BYTES = 16_000_000
"""A reply is no longer than this, unpacked."""
PORTS = {"http": 80, "https": 443}
FIRST = "minions-evals.first-address"
"""The extension of a request that holds the address asked first; a redirect inherits it."""


class UnacceptableReplyError(Exception):
    """A reply that is not read to its end, or not followed; asking again would bring the same."""


def open_client(
    make: Callable[..., Web], *, server: str | None, trust_env: bool, reply_bytes: int = MOST_BYTES, **settings: Any
) -> Web:
    """Returns the client that `make` makes. `server` is the only one that it may ask; None: each request names its own.

    With `trust_env` the environment sets proxies and certificates (`SSL_CERT_FILE`, `SSL_CERT_DIR`).
    """
    hooks: dict[str, list[Callable[..., Awaitable[None]]]] = {
        "request": [partial(_stay, server=server)],
        "response": [partial(_cap, most=reply_bytes)],
    }
    return make(event_hooks=hooks, trust_env=trust_env, verify=trusted_certificates(trust_env=trust_env), **settings)


@cache
def trusted_certificates(*, trust_env: bool) -> ssl.SSLContext:
    """The default certificates of httpx2, cached: reading them takes 20 to 40 ms, and each client needs them twice."""
    import httpx2  # noqa: PLC0415 - 0.1 s; whoever connects imports it at first use

    return httpx2.create_ssl_context(trust_env=trust_env)


async def _stay(request: httpx2.Request, *, server: str | None) -> None:
    """Raises `UnacceptableReplyError` before a request leaves for another server than the one that was meant."""
    to = str(request.url)
    if not same_host(server or str(request.extensions.setdefault(FIRST, to)), to):
        raise UnacceptableReplyError(f"it leads to another server, {origin(to)}, which is not followed")


async def _cap(response: httpx2.Response, *, most: int) -> None:
    cap(response, most)


def cap(response: httpx2.Response, most: int) -> None:
    """Has the reply raise `UnacceptableReplyError` once more than that was read of it, however it was packed."""
    unpacked = response.aiter_bytes

    async def counted(chunk_size: int | None = None) -> AsyncGenerator[bytes]:
        size = 0
        async with aclosing(unpacked(chunk_size)) as parts:  # one that is left half-way would keep its connection
            async for part in parts:
                size += len(part)
                if size > most:
                    raise UnacceptableReplyError(f"the reply is longer than {most // 1_000_000} MB")
                yield part

    response.aiter_bytes = counted  # the one place that all other ways of reading it go through


def same_host(before: str, after: str) -> bool:
    """Whether both addresses have the same host and port. An upgrade from http to https on the default ports counts as the same."""
    old, new = urlsplit(before), urlsplit(after)
    if new.scheme not in PORTS or old.hostname != new.hostname:
        return False
    ports = [parts.port or PORTS[parts.scheme] for parts in (old, new)]
    if old.scheme == new.scheme:
        return ports[0] == ports[1]
    return new.scheme == "https" and ports == [PORTS["http"], PORTS["https"]]


def origin(url: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
