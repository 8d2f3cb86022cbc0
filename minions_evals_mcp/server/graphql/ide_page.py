"""GraphiQL, served from the package: nothing of it comes from the web, and its policy lets nothing else in."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from graphql import build_schema, introspection_from_schema
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from minions_evals_mcp.server.graphql.schema import graphql_schema

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
JAVASCRIPT, CSS = "text/javascript", "text/css"
FILES = {
    "react.js": JAVASCRIPT,
    "react-dom.js": JAVASCRIPT,
    "graphiql.js": JAVASCRIPT,
    "start.js": JAVASCRIPT,
    "graphiql.css": CSS,
    "page.css": CSS,
}
"""What the page loads, by name and type."""
SCHEMA = "schema.json"
WRITTEN_HERE = frozenset({"start.js", "page.css"})
"""Files that are not compressed."""


@cache
def _schema() -> bytes:
    """The answer to the query for the schema."""
    return json.dumps({"data": introspection_from_schema(build_schema(graphql_schema().as_str()))}).encode()


@cache
def _bytes(name: str) -> bytes:
    return files("minions_evals_mcp.server.graphql").joinpath(f"ide/{name}").read_bytes()


def ide_page() -> Response:
    """The page in which queries are written."""
    return Response(_bytes("index.html"), media_type="text/html", headers=HEADERS)


async def ide_file(request: Request) -> Response:
    """A script or stylesheet of the page."""
    name = str(request.path_params["name"])
    if name == SCHEMA:
        return Response(_schema(), media_type="application/json", headers=HEADERS)
    if name not in FILES:
        return PlainTextResponse("No such file.", 404)
    if name in WRITTEN_HERE:
        return Response(_bytes(name), media_type=FILES[name], headers=HEADERS)
    packed = {**HEADERS, "Content-Encoding": "gzip", "Cache-Control": "max-age=86400"}
    return Response(_bytes(f"{name}.gz"), media_type=FILES[name], headers=packed)
