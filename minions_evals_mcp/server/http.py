"""Serving over HTTP: who may call is settled before anything listens, and a health check for whoever runs the server."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from minions_evals_mcp.bounded_connections import BoundedServer, ConnectionLimits, own_bounds
from minions_evals_mcp.engine.people.persons import person_with_token
from minions_evals_mcp.errors import BadInputError, EvalsError, UnsupportedError
from minions_evals_mcp.network_address import NetworkAddress, bound, read_address
from minions_evals_mcp.server.card import register_card
from minions_evals_mcp.server.edge.guard import EvalsServer
from minions_evals_mcp.server.edge.logs import log
from minions_evals_mcp.server.session.calls import PERSON_STATE
from minions_evals_mcp.server.session.opened import ServerSession

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
HEALTH = "/health"
METRICS = "/metrics"
HEALTHY_WITHIN_S = 5
CLOSING_S = 3
"""A listening stream never ends by itself: so long its host is given to go."""
SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Door(NetworkAddress):
    """The address at which the server listens, and the token that a caller must bring."""

    token: str | None = None

    @property
    def url(self) -> str:
        """The address to give to a host."""
        return f"http://{self.authority}{PATH}"

    @property
    def public_url(self) -> str:
        """The address under which others call: the first name that was allowed, behind TLS; else the one to give to a host."""
        return f"https://{self.allowed_hosts[0]}{PATH}" if self.allowed_hosts and not self.is_loopback else self.url

    def security(self) -> TransportSecuritySettings:
        """The `Host` and `Origin` headers that are answered."""
        origins = {f"http://{name}" for name in self.hosts} | {f"https://{name}" for name in self.named_hosts}
        return TransportSecuritySettings(
            enable_dns_rebinding_protection=True, allowed_hosts=sorted(self.hosts), allowed_origins=sorted(origins)
        )


def read_door(address: str, *, allowed_hosts: Sequence[str], token: str | None) -> Door:
    """The door at `HOST:PORT`; raises `BadInputError` for one that would stand open to a network."""
    read = read_address(address, allowed_hosts=tuple(allowed_hosts))
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise BadInputError(
            f"MINIONS_EVALS_HTTP_TOKEN has {len(token)} characters.",
            remedy=f"Use at least {SHORTEST_TOKEN} random characters.",
        )
    door = Door(read.host, read.port, read.allowed_hosts, token)
    if door.is_loopback:
        return door
    missing = [
        what
        for what, is_there in (
            ("--allowed-host with the name that callers use", door.allowed_hosts),
            ("MINIONS_EVALS_HTTP_TOKEN with a secret that callers send", door.token),
        )
        if not is_there
    ]
    if missing:
        raise BadInputError(
            f"{door.host} can be reached from other machines.",
            remedy=f"Set {' and '.join(missing)}, or listen on 127.0.0.1.",
        )
    return door


class Bearer:
    """The application for callers who bring the operator's token or a person's; everyone may ask for what stands open.

    Where the operator set no token, a call without one is an agent's, and one with a token that is nobody's is refused.
    """

    def __init__(self, app: ASGIApp, session: ServerSession, token: str | None, *, open_to_all: frozenset[str]) -> None:
        self._app = app
        self._open = open_to_all
        self._session = session
        self._wanted = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers 401 to a request without a token that is known."""
        if scope["type"] == "http" and scope["path"] not in self._open and not await self._lets_in(scope):
            headers = {
                "WWW-Authenticate": "Bearer",
                "Connection": "close",
            }  # whatever body is on its way is not waited for
            refused = PlainTextResponse("A valid bearer token is required.", 401, headers)
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _lets_in(self, scope: Scope) -> bool:
        """Returns whether the caller may call; a person is noted with the request."""
        header = Headers(scope=scope).get("authorization")
        if header is None:
            return self._wanted is None
        scheme, _, given = header.partition(" ")
        if scheme.casefold() != "bearer":
            return False
        if self._wanted is not None and secrets.compare_digest(given.encode(), self._wanted.encode()):
            return True
        try:
            speaker = await person_with_token(await self._session.engine(), given)
        except EvalsError:
            return False
        if speaker is None:
            return False
        scope.setdefault("state", {})[PERSON_STATE] = speaker
        return True


def http_app(server: EvalsServer, session: ServerSession, door: Door, *, with_graphql: bool = False) -> ASGIApp:
    """The server behind its door, with the testing API beside it where that was asked for."""

    async def health(request: Request) -> Response:
        del request
        return await _health(session)

    async def metrics(request: Request) -> Response:
        if request.headers.get("host") not in door.security().allowed_hosts or "origin" in request.headers:
            return PlainTextResponse("This server answers only to its own host name.", 421)
        return await _metrics(session)

    server.custom_route(HEALTH, methods=["GET"])(health)
    server.custom_route(METRICS, methods=["GET"])(metrics)
    card = register_card(server, door.public_url, path=PATH, needs_token=door.token is not None)
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=door.security(), host=door.host)
    if with_graphql:
        app.router.routes.extend(_graphql_routes(session, door))
    return Bearer(app, session, door.token, open_to_all=card | {HEALTH})


def _graphql_routes(session: ServerSession, door: Door) -> list[Route]:
    """The testing API at `/graphql`, on this machine with its page; raises `UnsupportedError` where its extra is not installed."""
    try:
        from minions_evals_mcp.server.graphql.http import PATH as GRAPHQL  # noqa: PLC0415  an extra
        from minions_evals_mcp.server.graphql.http import GraphQLDoor  # noqa: PLC0415  as above
        from minions_evals_mcp.server.graphql.ide_page import ide_file  # noqa: PLC0415  as above
    except ModuleNotFoundError as error:
        raise UnsupportedError(
            f"--graphql needs {error.name}.", remedy="pip install 'minions-evals-mcp[graphql]'"
        ) from None
    api = Route(GRAPHQL, GraphQLDoor(session, door.security(), with_ide=door.is_loopback))
    return [api, Route(f"{GRAPHQL}/{{name}}", ide_file)] if door.is_loopback else [api]


async def _health(session: ServerSession) -> Response:
    """200 where calls can be answered; else 503 with the code of what keeps them from it."""
    try:
        with anyio.fail_after(HEALTHY_WITHIN_S):
            await session.engine()
    except TimeoutError:
        return JSONResponse({"status": "starting"}, 503)
    except EvalsError as error:
        return JSONResponse({"status": "unavailable", "code": error.code}, 503)
    return JSONResponse({"status": "ok"})


async def _metrics(session: ServerSession) -> Response:
    """The figures for Prometheus; 503 with a code while the store cannot be read."""
    from minions_evals_mcp.operations.views.metrics import CONTENT_TYPE, metrics_text  # noqa: PLC0415  at the first scrape

    try:
        return Response(await metrics_text(await session.engine()), media_type=CONTENT_TYPE)
    except EvalsError as error:
        return JSONResponse({"status": "unavailable", "code": error.code}, 503)


class HttpServer(BoundedServer):
    """The server behind its door."""

    def __init__(self, app: ASGIApp, bounds: ConnectionLimits, *, closing_s: int = CLOSING_S) -> None:
        super().__init__(app, bounds, closing_s=closing_s)


def serve_http(server: EvalsServer, session: ServerSession, door: Door, *, with_graphql: bool = False) -> None:
    """Serves until the process is told to end."""
    with bound(door) as listening:
        door = replace(door, port=listening.getsockname()[1])  # it may have been any free one
        log().warning("serving-http", url=door.url)
        app = http_app(server, session, door, with_graphql=with_graphql)
        anyio.run(HttpServer(app, own_bounds()).serve, [listening])
