"""OTLP over gRPC: the three `Export` calls, as any OpenTelemetry exporter makes them."""

from __future__ import annotations

import asyncio  # noqa: TID251  connections are asyncio's, as those of uvicorn
import logging
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import anyio

from minions_evals_mcp.bounded_connections import QUEUED, Places
from minions_evals_mcp.interop.logs.grpc_connection import GrpcCall, GrpcConnection, GrpcListener
from minions_evals_mcp.interop.logs.otlp_endpoint import LAST_REQUESTS_S
from minions_evals_mcp.interop.logs.otlp_intake import BROKEN, KEPT, UNKNOWN_KIND, IntakeAnswer, OtlpIntake, Sent
from minions_evals_mcp.interop.logs.otlp_requests import PROTOBUF, Signal, partial_success

PATHS: dict[str, Signal] = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "traces",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "logs",
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "metrics",
}
LOOKED_EVERY_S = 0.01
_log = logging.getLogger(__name__)


class OtlpService:
    """Answers the calls of exporters."""

    def __init__(self, intake: OtlpIntake) -> None:
        self._intake = intake

    def refusal(self, call: GrpcCall) -> IntakeAnswer | None:
        """Returns why the call is refused before its message is there."""
        if PATHS.get(call.path) not in self._intake.takes:
            return IntakeAnswer(UNKNOWN_KIND, f"{call.path} is not known: Export of traces, logs and metrics is.")
        return self._intake.refusal(call.headers)

    async def reply(self, call: GrpcCall) -> tuple[IntakeAnswer, bytes]:
        """Takes the request in, and returns the reply's message beside the answer."""
        signal = PATHS[call.path]

        async def sent() -> Sent:
            return call.frame.sent(call.headers.get("grpc-encoding", ""))

        try:
            answer = await self._intake.take(signal, PROTOBUF, sent)
        except Exception:  # noqa: BLE001  as a web server does: one request that breaks us ends no other
            _log.exception("a request could not be answered")
            return IntakeAnswer(BROKEN, "The request could not be answered."), b""
        return answer, partial_success(signal, answer.rejected, answer.why, PROTOBUF) if answer.outcome is KEPT else b""


@asynccontextmanager
async def grpc_listening(intake: OtlpIntake, listener: socket.socket, places: Places) -> AsyncGenerator[None]:
    """Serves as long as this lasts; then answers the requests that are there whole, and asks all others to come again."""
    connections: set[GrpcConnection] = set()
    async with anyio.create_task_group() as tasks:
        held = GrpcListener(places, connections, OtlpService(intake), tasks.start_soon)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(partial(GrpcConnection, held), sock=listener, backlog=places.bounds.at_once)
        listener.listen(QUEUED)
        try:
            yield
        finally:
            server.close()
            await _ended(connections)
            tasks.cancel_scope.cancel()


async def _ended(connections: set[GrpcConnection]) -> None:
    """Ends the connections, those with a request under way once it is answered, if that is soon."""
    for connection in tuple(connections):
        connection.end()
    with anyio.move_on_after(LAST_REQUESTS_S, shield=True):
        while any(connection.is_busy for connection in connections):  # noqa: ASYNC110  connections set no event
            await anyio.sleep(LOOKED_EVERY_S)
    for connection in tuple(connections):
        connection.refuse(503)
