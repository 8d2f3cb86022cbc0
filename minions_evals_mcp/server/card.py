"""The facts of the server that can be known before connecting (SEP-2127): its card beside the endpoint, and the catalogue of its host."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS
from pydantic import JsonValue, TypeAdapter
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

if TYPE_CHECKING:
    from minions_evals_mcp.server.edge.guard import EvalsServer

CARD_TYPE, CATALOG_TYPE = "application/mcp-server-card+json", "application/ai-catalog+json"
CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
CATALOG = "/.well-known/ai-catalog.json"
CARD = "/server-card"
"""Where the card stands, after the endpoint's own address."""
OPEN_TO_PAGES = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET",
    "Access-Control-Allow-Headers": "Content-Type, If-None-Match",
    "Access-Control-Expose-Headers": "ETag",
    "Cache-Control": "public, max-age=3600",
}
"""Both say nothing that is not public: any page may read them."""
Json = dict[str, JsonValue]
_JSON: TypeAdapter[Json] = TypeAdapter(Json)


@cache
def _listed() -> Json:
    """Returns what the registry is told."""
    return _JSON.validate_json(files("minions_evals_mcp.server").joinpath("server.json").read_bytes())


def server_card(url: str, *, needs_token: bool) -> Json:
    """The card of the server at that address."""
    listed = _listed()
    remote: Json = {
        "type": "streamable-http",
        "url": url,
        "supportedProtocolVersions": [*SUPPORTED_PROTOCOL_VERSIONS],
    }
    if needs_token:
        remote["headers"] = [
            {
                "name": "Authorization",
                "value": "Bearer {token}",
                "isRequired": True,
                "isSecret": True,
                "variables": {"token": {"description": "The operator's token, or a person's.", "isSecret": True}},
            }
        ]
    same: Json = {name: listed[name] for name in ("name", "title", "description")}
    return {"$schema": CARD_SCHEMA, **same, "version": version("minions-evals-mcp"), "remotes": [remote]}


def catalog(url: str) -> Json:
    """The catalogue of the host, with this server's card."""
    namespace, _, name = str(_listed()["name"]).partition("/")
    domain = ".".join(reversed(namespace.split(".")))
    entry: Json = {"identifier": f"urn:air:{domain}:mcp:{name}", "type": CARD_TYPE, "url": f"{url}{CARD}"}
    return {"specVersion": "1.0", "entries": [entry]}


def register_card(server: EvalsServer, url: str, *, path: str, needs_token: bool) -> frozenset[str]:
    """Serves the card and the catalogue to everyone; the paths at which they are."""
    at = {
        f"{path}{CARD}": (CARD_TYPE, server_card(url, needs_token=needs_token)),
        CATALOG: (CATALOG_TYPE, catalog(url)),
    }
    for place, (kind, description) in at.items():
        server.custom_route(place, methods=["GET"])(_serving(kind, to_json(description)))
    return frozenset(at)


def _serving(kind: str, body: bytes) -> Callable[[Request], Awaitable[Response]]:
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {**OPEN_TO_PAGES, "ETag": tag}

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=kind, headers=headers)

    return serve
