"""A server over HTTP in this process, on a free port."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from minions_evals_mcp.bounded_connections import ConnectionLimits
from minions_evals_mcp.network_address import bound
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.edge.guard import EvalsServer
from minions_evals_mcp.server.http import Door, HttpServer, http_app
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.hang import HANG_S
from tests.workshop import config_in, opened


@asynccontextmanager
async def on_the_web(
    server: EvalsServer,
    session: ServerSession,
    *,
    token: str | None = None,
    names: tuple[str, ...] = (),
    bounds: ConnectionLimits | None = None,
    with_graphql: bool = False,
) -> AsyncGenerator[Door]:
    """The door of the server while it serves."""
    with bound(Door("127.0.0.1", 0)) as listening:
        door = Door("127.0.0.1", _port(listening), names, token)
        app = http_app(server, session, door, with_graphql=with_graphql)
        web = HttpServer(app, bounds or ConnectionLimits(), closing_s=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listening])
            try:
                yield door
            finally:
                web.should_exit = True


def _port(listening: socket.socket) -> int:
    return listening.getsockname()[1]


TOKEN = "a-token-of-some-length"


@asynccontextmanager
async def served(
    folder: Path, *, token: str | None = None, names: tuple[str, ...] = (), bounds: ConnectionLimits | None = None
) -> AsyncGenerator[Door]:
    """The door of a server on an empty store."""
    session = ServerSession(lambda: opened(config_in(folder)))
    with anyio.fail_after(HANG_S):
        async with on_the_web(
            build_server(session, ServerOptions()), session, token=token, names=names, bounds=bounds
        ) as door:
            yield door
