"""Requests to one address of a provider, prepared once: its SDK's headers and its SDK's transport, a body a call.

An SDK works its headers and options out anew for each call, which takes longer than sending it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.models.faults import Fault, fault_of_status, fault_of_transport

if TYPE_CHECKING:
    import httpx2

NO_LIMIT = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"))}
"""The deadline stands around the whole call."""


class Prepared:
    """A `POST` of JSON to that path under the SDK's address. Of the headers, those that are texts are sent."""

    def __init__(self, web: httpx2.AsyncClient, base_url: httpx2.URL, path: str, headers: Mapping[str, object]) -> None:
        import httpx2  # noqa: PLC0415 - 0.1 s; the SDKs, which are imported at first use, bring it

        self._make = httpx2.Request
        self._web = web
        self._url = base_url.copy_with(path=base_url.path.rstrip("/") + path)
        self._headers = httpx2.Headers(web.headers)
        self._headers.update({name: value for name, value in headers.items() if isinstance(value, str)})

    async def post(self, body: Json) -> bytes | Fault:
        """Returns what a 2xx brought, or what went wrong."""
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        request = self._make("POST", self._url, headers=self._headers, content=content, extensions=NO_LIMIT)
        try:
            response = await self._web.send(request)
        except Exception as error:  # noqa: BLE001  whatever a transport raises, as the SDKs have it
            return fault_of_transport(error)
        if not response.is_success:
            return fault_of_status(response.status_code, response.headers, response.text)
        return response.content
