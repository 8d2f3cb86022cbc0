"""An exporter over gRPC: grpcio's own client, as OpenTelemetry's exporters use it."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
import pytest

from minions_evals_mcp.bounded_connections import ConnectionLimits, Places
from minions_evals_mcp.interop.logs.otlp_intake import OtlpIntake
from tests.hang import HANG_S

needs_grpc = pytest.mark.skipif(
    not all(importlib.util.find_spec(name.partition(".")[0]) for name in ("h2", "grpc")),
    reason="grpcio or h2 is not installed: pip install -e '.[dev]'",
)
SERVICES = {"traces": ("trace", "Trace"), "logs": ("logs", "Logs"), "metrics": ("metrics", "Metrics")}


def path(signal: str) -> str:
    """The path of a signal's call."""
    package, service = SERVICES[signal]
    return f"/opentelemetry.proto.collector.{package}.v1.{service}Service/Export"


@dataclass(frozen=True)
class Replied:
    """What came back: the status by name, its words, the reply's message and the trailers."""

    code: str
    why: str
    message: bytes
    trailers: dict[str, Any]


def called(
    address: str, calls: Sequence[tuple[str, bytes]], *, metadata: Sequence[tuple[str, str]] = (), gzip: bool = False
) -> list[Replied]:
    """The replies to those calls, one after the other on one connection."""
    import grpc  # noqa: PLC0415  an extra

    packing = grpc.Compression.Gzip if gzip else grpc.Compression.NoCompression
    options = [("grpc.max_send_message_length", -1), ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
    channel: Any = grpc.insecure_channel(address, options=options)
    replies: list[Replied] = []
    with channel:
        for where, body in calls:
            try:
                message, done = channel.unary_unary(where).with_call(
                    body, timeout=HANG_S, compression=packing, metadata=tuple(metadata)
                )
                replies.append(Replied("OK", "", message, dict(done.trailing_metadata() or ())))
            except grpc.RpcError as error:
                failed: Any = error
                replies.append(
                    Replied(failed.code().name, failed.details(), b"", dict(failed.trailing_metadata() or ()))
                )
    return replies


@asynccontextmanager
async def grpc_served(intake: OtlpIntake, bounds: ConnectionLimits | None = None) -> AsyncGenerator[str]:
    """The address at which the intake is served."""
    from minions_evals_mcp.interop.logs.otlp_grpc import grpc_listening  # noqa: PLC0415  an extra

    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with grpc_listening(intake, listener, Places(bounds or ConnectionLimits())):
            yield f"127.0.0.1:{listener.getsockname()[1]}"


async def exported(
    intake: OtlpIntake,
    calls: Sequence[tuple[str, bytes]],
    *,
    metadata: Sequence[tuple[str, str]] = (),
    gzip: bool = False,
) -> list[Replied]:
    """The replies of the intake to those calls."""

    def call() -> list[Replied]:
        return called(address, calls, metadata=metadata, gzip=gzip)

    async with grpc_served(intake) as address:
        return await anyio.to_thread.run_sync(call)
