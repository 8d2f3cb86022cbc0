"""An OTLP/HTTP endpoint for traces: `POST /v1/traces`, as any OpenTelemetry exporter sends them."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ipaddress import ip_address

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, UnsupportedError
from minions_evals_mcp.interop.logs.otlp_requests import JSON, LARGEST, document, unpacked
from minions_evals_mcp.interop.spans import spans_of

PATH = "/v1/traces"
DEFAULT = "127.0.0.1:4318"
SHORTEST_TOKEN = 16
AGAIN_S = "5"


def bound(address: str, token: str | None) -> socket.socket:
    """The listening socket at HOST:PORT; raises `BadInputError` for one that would stand open to a network without a token."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise BadInputError(f"--otlp {address}: it has the form HOST:PORT.", remedy=f"The usual one is {DEFAULT}.")
    if not _is_loopback(host) and (token is None or len(token) < SHORTEST_TOKEN):
        raise BadInputError(
            f"--otlp {address} stands open to a network.",
            remedy=f"Set MINIONS_EVALS_HTTP_TOKEN, {SHORTEST_TOKEN} characters or more, which exporters send as a bearer token.",
        )
    try:
        return socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise BadInputError(
            f"cannot listen on {address}: {error.strerror or error}.", remedy="Choose another --otlp address."
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def otlp_app(intake: TraceIntake, token: str | None) -> Starlette:
    """The endpoint; with a token, only for those who bring it."""

    async def take(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if token is not None and not _brings(request, token):
            return _refused("A bearer token that is known is needed.", 401)
        if "origin" in request.headers:  # a page in a browser is no exporter
            return _refused("Requests of web pages are not taken.", 403)
        if intake.is_full:
            return _refused("Too many traces wait; send again later.", 503, {"Retry-After": AGAIN_S})
        try:
            body = await _body(request)
            spans = list(spans_of(document(unpacked(body, request.headers.get("content-encoding", "").lower()), kind)))
        except UnsupportedError as error:
            return _refused(str(error), 415)
        except (BadInputError, InvalidRecordError, ValueError) as error:
            return _refused(str(error), 400)
        intake.add(spans)
        return Response(b"{}" if kind == JSON else b"", 200, media_type=kind)

    return Starlette(routes=[Route(PATH, take, methods=["POST"])])


def _brings(request: Request, token: str) -> bool:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


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


class OtlpServer(uvicorn.Server):
    """The server of the endpoint; signals stay the agent's."""

    def __init__(self, app: Starlette, listening: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(app, log_config=None, access_log=False, ws="none", lifespan="off", limit_concurrency=64)
        )
        self._listening = listening

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """The agent's own handlers stay in place."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens, and says so."""
        await super().startup(sockets)
        self._listening()
