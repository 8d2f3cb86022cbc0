"""Anthropic's models at Amazon Bedrock through the SDK's own client, which finds the cloud's credentials where no key is set."""

from __future__ import annotations

from typing import Any

from minions_evals_mcp.models.anthropic_client import messages_extra, read_message
from minions_evals_mcp.models.client import ModelConnection
from minions_evals_mcp.models.cloud_calls import CloudClient, shared
from minions_evals_mcp.models.request import ModelRequest


def open_client(connection: ModelConnection) -> CloudClient:
    """The client of that region."""
    import anthropic  # noqa: PLC0415 - 0.9 s: imported at first use
    from anthropic.lib.bedrock import AsyncAnthropicBedrock  # noqa: PLC0415  as above

    sdk = AsyncAnthropicBedrock(
        aws_region=connection.place["region"],
        api_key=connection.api_key or None,
        open_telemetry=False,
        **shared(connection, anthropic),
    )

    async def send(request: ModelRequest, limits: tuple[str, ...]) -> Any:
        del limits
        return await sdk.messages.with_raw_response.create(
            model=request.model,
            max_tokens=request.max_tokens,
            messages=[{"role": "user", "content": request.user}],
            extra_body=messages_extra(request),
        )

    return CloudClient(connection, sdk, anthropic, send=send, read=read_message)
