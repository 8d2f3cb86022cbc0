"""Whoever sends frames without end and no whole request is sent away: reading frames costs more than sending them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import pytest

from minions_evals_mcp.interop.logs.otlp_intake import OtlpIntake
from tests.hang import HANG_S
from tests.shared.agent.desk import Json
from tests.shared.agent.grpc_exporter import grpc_served, path

h2 = pytest.importorskip("h2.connection", reason="h2 is not installed: pip install -e '.[dev]'")
if TYPE_CHECKING:
    from h2.connection import H2Connection


async def nothing(_: Json) -> None:
    """Keep nothing."""


def begun(client: H2Connection) -> int:
    """The stream of a call whose headers were sent."""
    stream = client.get_next_available_stream_id()
    head = {":method": "POST", ":path": path("traces"), ":scheme": "http", ":authority": "a"}
    client.send_headers(stream, [*head.items(), ("content-type", "application/grpc")])
    return stream


def given_up(client: H2Connection) -> None:
    client.reset_stream(begun(client))


def pinged(client: H2Connection) -> None:
    client.ping(b"12345678")


@pytest.mark.parametrize(("frames", "most"), [(given_up, 1000), (pinged, 200_000)])
async def test_frames_without_a_request_end_the_connection(frames: Callable[[H2Connection], None], most: int) -> None:
    client: H2Connection = h2.H2Connection()
    client.initiate_connection()
    for _ in range(most):
        frames(client)
    flood = client.data_to_send()
    async with grpc_served(OtlpIntake({"traces": nothing})) as address:
        stream = await anyio.connect_tcp("127.0.0.1", int(address.rpartition(":")[2]))

        async def send() -> None:
            with suppress(anyio.BrokenResourceError):
                await stream.send(flood)

        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(send)
                with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    while True:
                        await stream.receive()
                tasks.cancel_scope.cancel()
