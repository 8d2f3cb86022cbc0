"""What a provider's SDK sends by, what of the environment it may add, and requests to one address that are prepared once.

An SDK works its headers and options out anew for each call, which takes longer than sending it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.models.client import ModelConnection
from minions_evals_mcp.models.departure import departures_of
from minions_evals_mcp.models.faults import AttemptFault, fault_of_status, fault_of_transport
from minions_evals_mcp.outgoing import open_client

if TYPE_CHECKING:
    import httpx2

Sdk = TypeVar("Sdk")
Told = TypeVar("Told")
OF_ACCOUNT = ("organization", "project")
NO_LIMIT = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"))}
"""The deadline stands around the whole call."""


def web_of(connection: ModelConnection, package: ModuleType) -> httpx2.AsyncClient:
    """The client of the SDK in that package, which asks the connection's address only."""
    return open_client(
        departures_of(package.DefaultAioHttpClient),
        server=connection.base_url or None,
        trust_env=True,
        reply_bytes=connection.reply_bytes,
    )


def vetted(sdk: Sdk, connection: ModelConnection) -> Sdk:
    """The SDK's client. At an address that the operator did not set, it sends nothing that it took from the environment.

    The SDKs read headers (`ANTHROPIC_CUSTOM_HEADERS`), an organization and a project there, which often hold a gateway's key.
    """
    if connection.is_foreign:
        client: Any = sdk
        client._custom_headers = {}  # noqa: SLF001  no argument leaves them out
        for name in OF_ACCOUNT:
            if hasattr(client, name):
                setattr(client, name, None)
    return sdk


class Prepared:
    """A `POST` of JSON to that path under the SDK's address. Of the headers, those that are texts are sent."""

    def __init__(self, web: httpx2.AsyncClient, base_url: httpx2.URL, path: str, headers: Mapping[str, object]) -> None:
        import httpx2  # noqa: PLC0415 - 0.1 s; the SDKs, which are imported at first use, bring it

        self._make, self._stream = httpx2.Request, httpx2.ByteStream
        self._web = web
        self._url = base_url.copy_with(path=base_url.path.rstrip("/") + path)
        self._headers = httpx2.Headers(web.headers)
        self._headers.update({name: value for name, value in headers.items() if isinstance(value, str)})
        self._headers["Host"] = self._url.netloc.decode("ascii")
        self._encoding = self._headers.encoding

    async def post(self, body: Json) -> bytes | AttemptFault:
        """The body of a 2xx response, or the fault."""
        request = self._request(to_json(body, inf_nan_mode="constants"))
        try:
            response = await self._web.send(request)
        except Exception as error:  # noqa: BLE001  whatever a transport raises, as the SDKs have it
            return fault_of_transport(error)
        if not response.is_success:
            return fault_of_status(response.status_code, response.headers, response.text)
        return response.content

    async def streamed(self, body: Json, read: Callable[[httpx2.Response], Awaitable[Told]]) -> Told | AttemptFault:
        """The result of `read` on a streamed 2xx response, or the fault that came before it."""
        request = self._request(to_json(body, inf_nan_mode="constants"))
        try:
            response = await self._web.send(request, stream=True)
            if not response.is_success:
                await response.aread()
        except Exception as error:  # noqa: BLE001  as above
            return fault_of_transport(error)
        try:
            if not response.is_success:
                return fault_of_status(response.status_code, response.headers, response.text)
            return await read(response)
        finally:
            await response.aclose()

    def _request(self, content: bytes) -> httpx2.Request:
        """Given a stream, a request takes its headers as they are; given its content, it would work them out once more."""
        stream = self._stream(content)
        request = self._make("POST", self._url, headers=self._headers, stream=stream, extensions=NO_LIMIT)
        request.headers.encoding = self._encoding
        request.headers["Content-Length"] = str(len(content))
        request.read()
        return request
