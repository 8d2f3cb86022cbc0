"""Every listening socket is served within the same bounds."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream
from starlette.applications import Starlette

from minions_evals_mcp.bounded_connections import BoundedServer, ConnectionLimits
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.interop.logs.otlp_endpoint import OtlpServer, otlp_app
from minions_evals_mcp.server.http import HttpServer
from tests.hang import HANG_S

ROOT = Path(__file__).parents[2]
TIGHT = ConnectionLimits(connections=64, each=64, head_s=3.0)
HALF_HEAD = b"POST /v1/traces HTTP/1.1\r\nhost: a\r\n"


async def nothing_kept(_: Json) -> None:
    """Take a request in and keep nothing."""


def of_exporters() -> BoundedServer:
    return OtlpServer(otlp_app({"traces": nothing_kept}), lambda: None, TIGHT)


def of_hosts() -> BoundedServer:
    return HttpServer(Starlette(), TIGHT, closing_s=1)


@asynccontextmanager
async def serving(server: BoundedServer) -> AsyncGenerator[int]:
    """The port at which it listens."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [bound])
            while not server.started:  # noqa: ASYNC110  uvicorn sets no event
                await anyio.sleep(0.01)
            yield bound.getsockname()[1]
            server.should_exit = True


@pytest.mark.parametrize("made", [of_exporters, of_hosts])
async def test_callers_that_send_half_a_head_shut_nobody_out(made: Callable[[], BoundedServer]) -> None:
    with anyio.fail_after(HANG_S):
        async with serving(made()) as port, AsyncExitStack() as held:
            for _ in range(TIGHT.connections):
                stream: SocketStream = await held.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
                await stream.send(HALF_HEAD)
            await anyio.sleep(TIGHT.head_s)
            async with httpx2.AsyncClient(timeout=HANG_S) as client:
                answer = await client.post(f"http://127.0.0.1:{port}/v1/traces", json={})
                assert answer.status_code in {200, 404}


@pytest.mark.parametrize("package", ["minions_evals_mcp", "agent"])
def test_no_socket_is_served_by_another_server(package: str) -> None:
    others = (
        "uvicorn.Config(",
        "uvicorn.run(",
        "uvicorn.Server(",
        "create_tcp_listener(",
        "start_server(",
        "HTTPServer(",
    )
    found = [
        f"{path.relative_to(ROOT)}: {other}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "bounded_connections.py"
        for other in others
        if other in path.read_text("utf-8")
    ]
    assert found == []
