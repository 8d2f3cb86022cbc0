"""Every listening socket is served within the same bounds."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import pytest
from anyio.abc import SocketStream
from starlette.applications import Starlette

from minions_evals_mcp.bounded_connections import BoundedServer, ConnectionLimits, Places
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.interop.logs.otlp_endpoint import OtlpServer, otlp_app
from minions_evals_mcp.interop.logs.otlp_intake import OtlpIntake
from minions_evals_mcp.server.http import HttpServer
from tests.hang import HANG_S
from tests.shared.agent.grpc_exporter import called, grpc_served, needs_grpc, path

BOUNDED = ("bounded_connections.py", "otlp_grpc.py")
"""Where connections take places."""
ROOT = Path(__file__).parents[2]
TIGHT = ConnectionLimits(connections=64, each=64, head_s=3.0)
HALF_HEAD = b"POST /v1/traces HTTP/1.1\r\nhost: a\r\n"


async def nothing_kept(_: Json) -> None:
    """Take a request in and keep nothing."""


def of_exporters() -> AbstractAsyncContextManager[int]:
    return serving(OtlpServer(otlp_app(OtlpIntake({"traces": nothing_kept})), lambda: None, Places(TIGHT)))


def of_hosts() -> AbstractAsyncContextManager[int]:
    return serving(HttpServer(Starlette(), TIGHT, closing_s=1))


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


async def held_by(port: int, said: bytes, held: AsyncExitStack) -> None:
    """All places are taken by callers who said that much and no more."""
    for _ in range(TIGHT.connections):
        stream: SocketStream = await held.enter_async_context(await anyio.connect_tcp("127.0.0.1", port))
        await stream.send(said)
    await anyio.sleep(TIGHT.head_s)


@pytest.mark.parametrize("made", [of_exporters, of_hosts])
async def test_callers_that_send_half_a_head_shut_nobody_out(
    made: Callable[[], AbstractAsyncContextManager[int]],
) -> None:
    with anyio.fail_after(HANG_S):
        async with made() as port, AsyncExitStack() as held:
            await held_by(port, HALF_HEAD, held)
            async with httpx2.AsyncClient(timeout=HANG_S) as client:
                answer = await client.post(f"http://127.0.0.1:{port}/v1/traces", json={})
                assert answer.status_code in {200, 404}


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
HALF_CALLS = {
    "nothing": b"", "half a preface": PREFACE[:9], "a handshake": PREFACE + SETTINGS,
    "half a head": PREFACE + SETTINGS + b"\x00\x10\x00\x01\x04\x00\x00\x00\x01" + b"\x00" * 9,
}  # fmt: skip


def half_a_call(port: int) -> bytes:
    """A handshake, the headers of a call, and a tenth of its message."""
    from h2.connection import H2Connection  # noqa: PLC0415  an extra

    client = H2Connection()
    client.initiate_connection()
    head = {":method": "POST", ":path": path("traces"), ":scheme": "http", ":authority": f"127.0.0.1:{port}"}
    client.send_headers(1, [*head.items(), ("content-type", "application/grpc"), ("te", "trailers")])
    client.send_data(1, b"\x00" + (1000).to_bytes(4, "big") + b"\x0a" * 100)
    return client.data_to_send()


@needs_grpc
@pytest.mark.parametrize("said", [*HALF_CALLS, "half a message"])
async def test_callers_that_send_half_a_call_shut_nobody_out(said: str) -> None:
    async with grpc_served(OtlpIntake({"traces": nothing_kept}), TIGHT) as address, AsyncExitStack() as held:
        port = int(address.rpartition(":")[2])
        await held_by(port, HALF_CALLS[said] if said in HALF_CALLS else half_a_call(port), held)
        calls = [(path("traces"), b"")]
        (reply,) = await anyio.to_thread.run_sync(lambda: called(address, calls))
        assert reply.code == "OK"


@needs_grpc
async def test_listeners_of_one_process_share_their_places() -> None:
    from minions_evals_mcp.interop.logs.otlp_grpc import grpc_listening  # noqa: PLC0415  an extra

    places, intake = Places(TIGHT), OtlpIntake({"traces": nothing_kept})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with (
            grpc_listening(intake, listener, places),
            serving(OtlpServer(otlp_app(intake), lambda: None, places)) as port,
            AsyncExitStack() as held,
        ):
            await held_by(listener.getsockname()[1], PREFACE + SETTINGS, held)
            assert len(places.taken) == TIGHT.connections
            async with httpx2.AsyncClient(timeout=HANG_S) as client:
                assert (await client.post(f"http://127.0.0.1:{port}/v1/traces", json={})).status_code == 200
            assert len(places.taken) <= TIGHT.connections


@pytest.mark.parametrize("package", ["minions_evals_mcp", "agent"])
def test_no_socket_is_served_by_another_server(package: str) -> None:
    others = (
        "uvicorn.Config(",
        "uvicorn.run(",
        "uvicorn.Server(",
        "create_tcp_listener(",
        "start_server(",
        "HTTPServer(",
        "loop().create_server(",
        "loop.create_server(",
        "grpc.server(",
        "grpc.aio",
    )
    found = [
        f"{path.relative_to(ROOT)}: {other}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name not in BOUNDED
        for other in others
        if other in path.read_text("utf-8")
    ]
    assert found == []
