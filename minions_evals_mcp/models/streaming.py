"""Replies that come piece by piece (server-sent events): one that ends early is no answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

import anyio
from pydantic import ValidationError

from minions_evals_mcp.models.faults import AttemptFault, fault_of_connection, malformed
from minions_evals_mcp.models.replies import Answered
from minions_evals_mcp.outgoing import UnacceptableReplyError

EVENT_STREAM = "text/event-stream"


class Gathered(Protocol):
    """The sum of a provider's pieces."""

    @property
    def text(self) -> str:
        """The answer so far."""
        ...

    def take(self, event: bytes) -> Answered | AttemptFault | None:
        """The whole answer after the last piece, what went wrong, or None while it goes on."""
        ...


class Response(Protocol):
    """An HTTP reply whose head is there."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def aread(self) -> bytes: ...

    def aiter_bytes(self) -> AsyncIterator[bytes]: ...


async def read_reply(
    response: Response, gathered: Gathered, *, whole: Callable[[bytes], Answered | AttemptFault], sent_at: float
) -> Answered | AttemptFault:
    """The answer with the time of its first token; a server that does not stream is read as a `whole`, without one."""
    import httpx2  # noqa: PLC0415 - 0.1 s; the SDKs, which are imported at first use, bring it

    try:
        if not response.headers.get("content-type", "").startswith(EVENT_STREAM):
            return whole(await response.aread())
        return await _gather(response.aiter_bytes(), gathered, sent_at)
    except (httpx2.HTTPError, UnacceptableReplyError) as error:
        return fault_of_connection(error)
    except ValidationError as error:
        return malformed(error)


async def _gather(chunks: AsyncIterator[bytes], gathered: Gathered, sent_at: float) -> Answered | AttemptFault:
    first_ms: float | None = None
    async with aclosing(events(chunks)) as stream:
        async for event in stream:
            ended = gathered.take(event)
            if first_ms is None and gathered.text:
                first_ms = (anyio.current_time() - sent_at) * 1000
            if ended is not None:
                return ended if isinstance(ended, AttemptFault) else replace(ended, first_token_ms=first_ms)
    return AttemptFault("transient", "the stream ended before the answer was complete")


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The data of each server-sent event; one that its blank line does not end is no event."""
    rest = b""
    data: list[bytes] = []
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in (line.removesuffix(b"\r") for line in lines):
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data = []
