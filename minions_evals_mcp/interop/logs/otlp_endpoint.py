"""An OTLP/HTTP endpoint: `POST /v1/traces`, `/v1/logs` and `/v1/metrics`, as any OpenTelemetry exporter sends them."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from minions_evals_mcp.bounded_connections import BoundedServer, Places, own_bounds
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs.otlp_intake import AGAIN_S, KEPT, UNKNOWN_KIND, IntakeAnswer, OtlpIntake, Sent
from minions_evals_mcp.interop.logs.otlp_requests import JSON, LARGEST, PROTOBUF, Signal, partial_success

PATH = "/v1/traces"
LAST_REQUESTS_S = 2
"""So long is waited for requests under way once the endpoint is to end."""
KINDS = {"json": JSON, "protobuf": PROTOBUF}
"""The formats of requests, by the names that configs give them."""


def otlp_app(intake: OtlpIntake, *, formats: Collection[str] = tuple(KINDS), more: Sequence[Route] = ()) -> Starlette:
    """The endpoint of the signals that are taken in, and `more` beside it."""
    kinds = {KINDS[name] for name in formats}

    def receiver(signal: Signal) -> Callable[[Request], Awaitable[Response]]:
        async def receive(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            refusal = intake.refusal(request.headers)
            if refusal is not None:
                return _refused(refusal)
            if kind in KINDS.values() and kind not in kinds:
                return _refused(IntakeAnswer(UNKNOWN_KIND, f"{kind} is not taken here."))

            async def sent() -> Sent:
                return Sent(await _body(request), request.headers.get("content-encoding", "").lower())

            answer = await intake.take(signal, kind, sent)
            if answer.outcome is not KEPT:
                return _refused(answer)
            return Response(partial_success(signal, answer.rejected, answer.why, kind), 200, media_type=kind)

        return receive

    routes = [Route(f"/v1/{signal}", receiver(signal), methods=["POST"]) for signal in intake.takes]
    return Starlette(routes=[*routes, *more])


async def _body(request: Request) -> bytes:
    """The body, no more of it than is taken."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            raise BadInputError(f"the request is larger than {LARGEST} bytes.", remedy="Export smaller batches.")
    return bytes(body)


def _refused(answer: IntakeAnswer) -> Response:
    headers = {"Retry-After": str(AGAIN_S)} if answer.outcome.is_again else None
    return JSONResponse({"message": answer.why}, answer.outcome.http, headers)


def otlp_places() -> Places:
    """The places for exporters in this process, by whatever protocol they come."""
    return Places(replace(own_bounds(), body_bytes=LARGEST + 1))


class OtlpServer(BoundedServer):
    """The server of the endpoint; signals stay those of the program around it."""

    def __init__(self, app: Starlette, listening: Callable[[], None], places: Places | None = None) -> None:
        super().__init__(app, places or otlp_places(), closing_s=LAST_REQUESTS_S, lifespan="off")
        self._listening = listening

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """The program's own handlers stay in place."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens, and says so."""
        await super().startup(sockets)
        self._listening()
