"""A server over HTTP in this process, on a free port."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from minions_evals_mcp.server.connections import Bounds
from minions_evals_mcp.server.edge.guard import EvalsServer
from minions_evals_mcp.server.http import Door, Web, http_app, listening
from minions_evals_mcp.server.session.opened import Session


@asynccontextmanager
async def on_the_web(
    server: EvalsServer,
    session: Session,
    *,
    token: str | None = None,
    names: tuple[str, ...] = (),
    bounds: Bounds | None = None,
    with_graphql: bool = False,
) -> AsyncGenerator[Door]:
    """The door of the server while it serves."""
    with listening(Door("127.0.0.1", 0)) as bound:
        door = Door("127.0.0.1", _port(bound), names, token)
        app = http_app(server, session, door, with_graphql=with_graphql)
        web = Web(app, bounds or Bounds(), closing_s=1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [bound])
            try:
                yield door
            finally:
                web.should_exit = True


def _port(bound: socket.socket) -> int:
    return bound.getsockname()[1]
