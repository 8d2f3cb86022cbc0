"""Chat completions of Azure OpenAI's deployments through the `openai` SDK's own client. A model is called as its deployment is."""

from __future__ import annotations

from typing import Any

from minions_evals_mcp.domain.providers import LIMITS
from minions_evals_mcp.models.client import ModelConnection
from minions_evals_mcp.models.cloud_calls import CloudClient
from minions_evals_mcp.models.negotiation import Negotiation
from minions_evals_mcp.models.openai_client import chat_extra, read_chat
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.models.sdk_web import web_of


def open_client(connection: ModelConnection) -> CloudClient:
    """The client of that resource."""
    import openai  # noqa: PLC0415 - slow: imported at first use

    sdk = openai.AsyncAzureOpenAI(
        api_key=connection.api_key,
        azure_endpoint=connection.base_url,
        api_version=connection.place["api-version"],
        max_retries=0,
        timeout=None,
        http_client=web_of(connection, openai),
    )

    async def send(request: ModelRequest, limits: tuple[str, ...]) -> Any:
        return await sdk.chat.completions.with_raw_response.create(
            model=request.model,
            messages=[{"role": "user", "content": request.user}],
            extra_body=chat_extra(request, limits),
        )

    return CloudClient(connection, sdk, openai, send=send, read=read_chat, negotiation=Negotiation(LIMITS[::-1]))
