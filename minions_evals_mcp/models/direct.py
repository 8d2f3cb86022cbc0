"""Calls of a provider that needs a key and nothing else, by aiohttp itself: its SDK takes a second to import, and is left out.

Where an SDK would take more from the environment (headers, an organization, a proxy), the SDK sends.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.models.client import ModelConnection
from minions_evals_mcp.models.departure import traced_session
from minions_evals_mcp.models.faults import AttemptFault, fault_of_status, fault_of_transport
from minions_evals_mcp.outgoing import UnacceptableReplyError, origin, same_host, trusted_certificates

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

    from minions_evals_mcp.models.streaming import Response

Told = TypeVar("Told")
MOVED = frozenset({301, 302, 307, 308})
MOST_MOVES = 5
CONNECTIONS = 1000
HEADERS = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": "minions-evals"}


def needs_key_only(connection: ModelConnection, *variables: str) -> bool:
    """Whether a key is all that a request there needs: no proxy stands before it, and none of the SDK's variables is set."""
    address = urlsplit(connection.base_url)
    sets_more = not connection.is_foreign and any(map(os.environ.get, variables))  # noqa: TID251  as the SDK asks
    has_all = bool(connection.api_key and address.hostname) and address.username is None
    return has_all and not sets_more and not _is_proxied(address)


def _is_proxied(address: SplitResult) -> bool:
    return bool({address.scheme, "all"} & getproxies().keys()) and not proxy_bypass(address.netloc)


class DirectCalls:
    """`POST`s of JSON to that path under the connection's address, over the session of a `DirectWeb`."""

    def __init__(self, web: DirectWeb, path: str) -> None:
        parts = urlsplit(web.connection.base_url)
        self._url = parts._replace(path=parts.path.rstrip("/") + path).geturl()
        self._web = web
        self._most = web.connection.reply_bytes

    async def post(self, body: Json) -> bytes | AttemptFault:
        """The body of a 2xx response, or the fault."""
        sent = to_json(body, inf_nan_mode="constants")
        try:
            async with self._answered(sent) as response:
                content = await _read(response, self._most)
        except Exception as error:  # noqa: BLE001  whatever a transport raises
            return fault_of_transport(error)
        return content if _is_success(response) else _fault(response, content)

    async def streamed(self, body: Json, read: Callable[[Response], Awaitable[Told]]) -> Told | AttemptFault:
        """The result of `read` on a streamed 2xx response, or the fault that came before it."""
        sent, began = to_json(body, inf_nan_mode="constants"), False
        try:
            async with self._answered(sent) as response:
                if not _is_success(response):
                    return _fault(response, await _read(response, self._most))
                began = True
                return await read(_Streamed(response, self._most))
        except Exception as error:
            if began:
                raise
            return fault_of_transport(error)

    @asynccontextmanager
    async def _answered(self, content: bytes) -> AsyncGenerator[ClientResponse]:
        """The reply, its body unread. What was meant for one server is sent to no other: aiohttp's own reading of an address counts."""
        session, url = self._web.session(), self._url
        for _ in range(MOST_MOVES):
            async with session.post(url, data=content, allow_redirects=False) as response:
                moved = response.headers.get("location") if response.status in MOVED else None
                if moved is None:
                    yield response
                    return
                before = response.url
                url = str(before.join(type(before)(moved)))
                if not same_host(str(before), url):
                    raise UnacceptableReplyError(f"it leads to another server, {origin(url)}, which is not followed")
        raise UnacceptableReplyError(f"it redirects more than {MOST_MOVES} times")


class DirectWeb:
    """The session of one connection, opened at its first call: it belongs to the event loop that it is used in."""

    def __init__(self, connection: ModelConnection, headers: Mapping[str, str]) -> None:
        self.connection = connection
        self._headers = {**HEADERS, **headers}
        self._session: ClientSession | None = None

    def session(self) -> ClientSession:
        """The open session. It keeps no cookies and knows no time limit: the deadline stands around the whole call."""
        if self._session is None:
            from aiohttp import ClientTimeout, DummyCookieJar, TCPConnector  # noqa: PLC0415 - 0.1 s

            is_encrypted = self.connection.base_url.startswith("https")
            certificates = trusted_certificates(trust_env=True) if is_encrypted else True
            self._session = traced_session(
                TCPConnector(limit=CONNECTIONS, ssl=certificates), headers=self._headers,
                timeout=ClientTimeout(total=None, sock_connect=None), cookie_jar=DummyCookieJar(),
            )  # fmt: skip
        return self._session

    async def close(self) -> None:
        """Closes every connection."""
        if self._session is not None:
            await self._session.close()


class _Streamed:
    """A reply that is read piece by piece, up to that many bytes, unpacked."""

    def __init__(self, response: ClientResponse, most: int) -> None:
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._most = most

    async def aread(self) -> bytes:
        """The whole of it."""
        return b"".join([part async for part in self.aiter_bytes()])

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """What comes, as it comes; a connection that breaks is told by the name that the SDKs' transport has for it."""
        from aiohttp import ClientError  # noqa: PLC0415 - 0.1 s
        from httpx2 import ReadError  # noqa: PLC0415  the same

        try:
            async for part in _capped(self._response, self._most):
                yield part
        except (ClientError, OSError) as error:
            raise ReadError(str(error)) from error


async def _read(response: ClientResponse, most: int) -> bytes:
    return b"".join([part async for part in _capped(response, most)])


async def _capped(response: ClientResponse, most: int) -> AsyncGenerator[bytes]:
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > most:
            raise UnacceptableReplyError(f"the reply is longer than {most // 1_000_000} MB")
        yield part


def _is_success(response: ClientResponse) -> bool:
    return 200 <= response.status < 300


def _fault(response: ClientResponse, content: bytes) -> AttemptFault:
    charset = response.charset or "utf-8"
    try:
        text = content.decode(charset, "replace")
    except LookupError:
        text = content.decode("utf-8", "replace")
    return fault_of_status(response.status, response.headers, text)
