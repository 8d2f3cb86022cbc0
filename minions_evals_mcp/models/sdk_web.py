"""The transport that a provider's SDK sends by, and what of the environment the SDK may add to a request."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from minions_evals_mcp.models.client import ModelConnection
from minions_evals_mcp.models.departure import departures_of
from minions_evals_mcp.outgoing import open_client

if TYPE_CHECKING:
    import httpx2

Sdk = TypeVar("Sdk")
OF_ACCOUNT = ("organization", "project")


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
