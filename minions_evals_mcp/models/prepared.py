"""Requests to one address of a provider, prepared once: its SDK's headers and its SDK's transport, a body a call.

An SDK works its headers and options out anew for each call, which takes longer than sending it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from pydantic_core import to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.models.faults import AttemptFault, fault_of_status, fault_of_transport

if TYPE_CHECKING:
    import httpx2

Told = TypeVar("Told")
NO_LIMIT = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"))}
"""The deadline stands around the whole call."""


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
        """Returns what a 2xx brought, or what went wrong."""
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
