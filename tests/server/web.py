"""A server over HTTP in this process, on a free port."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import uvicorn

from minions_evals_mcp.server.edge.guard import EvalsServer
from minions_evals_mcp.server.http import Door, http_app, listening
from minions_evals_mcp.server.session.opened import Session


@asynccontextmanager
async def on_the_web(
    server: EvalsServer, session: Session, *, token: str | None = None, names: tuple[str, ...] = ()
) -> AsyncGenerator[Door]:
    """The door of the server while it serves."""
    with listening(Door("127.0.0.1", 0)) as bound:
        door = Door("127.0.0.1", _port(bound), names, token)
        config = uvicorn.Config(
            http_app(server, session, door), log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1
        )
        web = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [bound])
            try:
                yield door
            finally:
                web.should_exit = True


def _port(bound: socket.socket) -> int:
    return bound.getsockname()[1]
