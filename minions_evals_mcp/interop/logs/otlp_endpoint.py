"""An OTLP/HTTP endpoint: `POST /v1/traces`, `/v1/logs` and `/v1/metrics`, as any OpenTelemetry exporter sends them."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from minions_evals_mcp.bounded_connections import BoundedServer, ConnectionLimits, own_bounds
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, StoreError, UnsupportedError
from minions_evals_mcp.interop.logs.otlp_requests import (
    JSON,
    LARGEST,
    PROTOBUF,
    Rejected,
    Signal,
    document,
    partial_success,
    unpacked,
)

PATH = "/v1/traces"
AGAIN_S = "5"
LAST_REQUESTS_S = 2
"""So long is waited for requests under way once the endpoint is to end."""
KINDS = {"json": JSON, "protobuf": PROTOBUF}
"""The formats of requests, by the names that configs give them."""


Take = Callable[[Json], Awaitable[Rejected | None]]
"""Takes the document of a request in; raises `ValueError` saying what of it cannot be read, `StoreError` where it cannot be kept now."""


def _never() -> bool:
    return False


def otlp_app(
    takes: Mapping[Signal, Take],
    token: str | None = None,
    is_full: Callable[[], bool] = _never,
    formats: Collection[str] = tuple(KINDS),
    more: Sequence[Route] = (),
) -> Starlette:
    """The endpoint for these signals, and `more` beside it; with a token, the signals only for those who bring it.

    Where it is full, exporters are asked to wait.
    """
    kinds = {KINDS[name] for name in formats}

    def receiver(signal: Signal, take: Take) -> Callable[[Request], Awaitable[Response]]:
        async def receive(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if token is not None and not brings(request, token):
                return _refused("A bearer token that is known is needed.", 401)
            if "origin" in request.headers:  # a page in a browser is no exporter
                return _refused("Requests of web pages are not taken.", 403)
            if is_full():
                return _refused("Too many traces wait; send again later.", 503, {"Retry-After": AGAIN_S})
            if kind in KINDS.values() and kind not in kinds:
                return _refused(f"{kind} is not taken here.", 415)
            try:
                body = await _body(request)
                encoding = request.headers.get("content-encoding", "").lower()
                rejected = await take(document(unpacked(body, encoding), kind, signal))
            except StoreError:
                return _refused("The store cannot be written; send again later.", 503, {"Retry-After": AGAIN_S})
            except UnsupportedError as error:
                return _refused(str(error), 415)
            except (BadInputError, InvalidRecordError, ValueError) as error:
                return _refused(str(error), 400)
            number, why = (0, "") if rejected is None else (rejected.number, rejected.why)
            return Response(partial_success(signal, number, why, kind), 200, media_type=kind)

        return receive

    routes = [Route(f"/v1/{signal}", receiver(signal, take), methods=["POST"]) for signal, take in takes.items()]
    return Starlette(routes=[*routes, *more])


def brings(request: Request, token: str) -> bool:
    """Whether the request has the bearer token."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(credentials.strip().encode(), token.encode())


async def _body(request: Request) -> bytes:
    """The body, no more of it than is taken."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            raise BadInputError(f"the request is larger than {LARGEST} bytes.", remedy="Export smaller batches.")
    return bytes(body)


def _refused(reason: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"message": reason}, status, headers)


class OtlpServer(BoundedServer):
    """The server of the endpoint; signals stay those of the program around it."""

    def __init__(self, app: Starlette, listening: Callable[[], None], bounds: ConnectionLimits | None = None) -> None:
        bounds = bounds or replace(own_bounds(), body_bytes=LARGEST + 1)
        super().__init__(app, bounds, closing_s=LAST_REQUESTS_S, lifespan="off")
        self._listening = listening

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """The program's own handlers stay in place."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens, and says so."""
        await super().startup(sockets)
        self._listening()
