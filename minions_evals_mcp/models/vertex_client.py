"""Anthropic's models at Google Vertex AI through the SDK's own client, which finds the cloud's credentials where no key is set."""

from __future__ import annotations

from minions_evals_mcp.models.client import ModelConnection
from minions_evals_mcp.models.cloud_calls import CloudClient, messages_client, shared


def open_client(connection: ModelConnection) -> CloudClient:
    """The client of that region."""
    import anthropic  # noqa: PLC0415 - 0.9 s: imported at first use
    from anthropic.lib.vertex import AsyncAnthropicVertex  # noqa: PLC0415  as above

    sdk = AsyncAnthropicVertex(
        region=connection.place["region"],
        project_id=connection.place["project"],
        access_token=connection.api_key or None,
        open_telemetry=False,
        **shared(connection, anthropic),
    )

    return messages_client(connection, sdk, anthropic)
