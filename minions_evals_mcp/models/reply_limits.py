"""The limits on what is read of a provider's reply: no more than so many bytes, unpacked, and nothing from another host."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 16_000_000
"""A reply is no longer than this, unpacked."""
PORTS = {"http": 80, "https": 443}


class UnacceptableReplyError(Exception):
    """A reply that is not read to its end, or not followed; asking again would bring the same."""


def reply_hooks(most: int) -> dict[str, list[Callable[..., Any]]]:
    """The `event_hooks` of a client whose replies are held to it."""
    hook: Callable[[httpx2.Response], Awaitable[None]] = partial(_vet, most=most)
    return {"response": [hook]}


async def _vet(response: httpx2.Response, *, most: int) -> None:
    if 300 <= response.status_code < 400 and response.has_redirect_location:
        to = urljoin(str(response.url), response.headers["location"])
        if not same_host(str(response.url), to):
            raise UnacceptableReplyError(f"it redirects to another server, {origin(to)}, which is not followed")
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
    """Returns whether that is the same host and port; from http to https on their usual ports counts as the same."""
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
