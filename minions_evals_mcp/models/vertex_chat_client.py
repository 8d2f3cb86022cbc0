"""Google's models at Vertex AI through its OpenAI-compatible interface, with the cloud's own credentials where no key is set."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from minions_evals_mcp.domain.providers import LIMITS
from minions_evals_mcp.models.client import ModelConnection
from minions_evals_mcp.models.cloud_calls import CloudClient
from minions_evals_mcp.models.negotiation import Negotiation
from minions_evals_mcp.models.openai_client import chat_extra, read_chat
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.sdk_web import web_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GLOBAL = "global"


def open_client(connection: ModelConnection) -> CloudClient:
    """The client of that region; the project is the credentials' own where none is named."""
    import openai  # noqa: PLC0415 - slow: imported at first use

    place = connection.place
    region = place.get("region", GLOBAL)
    own = f"https://{'' if region == GLOBAL else f'{region}-'}aiplatform.googleapis.com/v1"
    access = _Access(connection.api_key, place.get("project", ""))
    sdk = openai.AsyncOpenAI(
        api_key=access.token, base_url=own, max_retries=0, timeout=None, http_client=web_of(connection, openai)
    )
    asked: list[AsyncOpenAI] = []

    async def send(request: ModelRequest, limits: tuple[str, ...]) -> Any:
        if not asked:
            await access.token()
            path = f"/projects/{access.project}/locations/{region}/endpoints/openapi"
            asked.append(sdk.with_options(base_url=(connection.base_url or own) + path))
        return await asked[0].chat.completions.with_raw_response.create(
            model=request.model if "/" in request.model else f"google/{request.model}",
            messages=[{"role": "user", "content": request.user}],
            extra_body=chat_extra(request, limits),
        )

    return CloudClient(connection, sdk, openai, send=send, read=read_chat, negotiation=Negotiation(LIMITS))


class _Access:
    """The token of each call: the key that is set, else one of the credentials that Google's library finds here."""

    def __init__(self, key: str, project: str) -> None:
        self.project = project
        self._key = key
        self._credentials: Any = None
        self._lock = anyio.Lock()

    async def token(self) -> str:
        """A token that is still valid."""
        if self._key:
            return self._key
        async with self._lock:
            return await anyio.to_thread.run_sync(self._refreshed)

    def _refreshed(self) -> str:
        library: Any = import_module("google.auth")  # an extra
        web: Any = import_module("google.auth.transport.requests")
        if self._credentials is None:
            self._credentials, found = library.default(scopes=[SCOPE])
            self.project = self.project or found or ""
        if not self._credentials.valid:
            self._credentials.refresh(web.Request())
        if not self.project:
            raise ValueError("the credentials name no project: set GOOGLE_CLOUD_PROJECT, or name one")
        return str(self._credentials.token)
