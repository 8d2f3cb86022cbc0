"""Where the agent takes traces in: its address, and the endpoint there."""

from __future__ import annotations

import socket

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import listed_values, obj
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs import otlp_endpoint
from minions_evals_mcp.interop.logs.otlp_intake import OtlpIntake, Take, brings
from minions_evals_mcp.interop.logs.otlp_requests import Rejected, Signal
from minions_evals_mcp.interop.spans import spans_of
from minions_evals_mcp.network_address import LAST_PORT, is_loopback, listening_socket
from minions_evals_mcp.operations.views.metrics import CONTENT_TYPE, PATH, metrics_text
from minions_evals_mcp.sessions.telemetry import events_of

DEFAULTS = {"--otlp": "127.0.0.1:4318", "--otlp-grpc": "127.0.0.1:4317"}
SHORTEST_TOKEN = 16


def bound(address: str, token: str | None, *, option: str = "--otlp") -> socket.socket:
    """The listening socket at HOST:PORT; raises `BadInputError` for one that would stand open to a network without a token."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > LAST_PORT:
        raise BadInputError(f"{option} {address}: expected HOST:PORT.", remedy=f"For example: {DEFAULTS[option]}.")
    if not is_loopback(host) and (token is None or len(token) < SHORTEST_TOKEN):
        raise BadInputError(
            f"{option} {address} is reachable over the network.",
            remedy=f"Set MINIONS_EVALS_HTTP_TOKEN, {SHORTEST_TOKEN} characters or more. Exporters send it as a bearer token.",
        )
    try:
        return listening_socket(host, int(port))
    except OSError as error:
        raise BadInputError(
            f"cannot listen on {address}: {error.strerror or error}.", remedy=f"Choose another {option} address."
        ) from None


def otlp_intake(intake: TraceIntake, token: str | None) -> OtlpIntake:
    """What is taken in of each signal, by whatever protocol it comes; with a token, only from those who bring it."""

    async def traces(document: Json) -> Rejected | None:
        return await intake.add(list(spans_of(document)))

    async def logs(document: Json) -> Rejected | None:
        return await intake.add_events(events_of(document))

    takes: dict[Signal, Take] = {"traces": traces, "logs": logs, "metrics": _no_metrics}
    return OtlpIntake(takes, token, lambda: intake.is_full)


def otlp_app(intake: TraceIntake, token: str | None) -> Starlette:
    """The HTTP endpoint of the agent's intake."""
    return otlp_endpoint.otlp_app(otlp_intake(intake, token), more=[_metrics_route(intake, token)])


def _metrics_route(intake: TraceIntake, token: str | None) -> Route:
    """The figures of the agent's store for Prometheus, for those who may send traces."""

    async def metrics(request: Request) -> Response:
        if token is not None and not brings(request.headers, token):
            return PlainTextResponse("A valid bearer token is required.", 401)
        if token is None and not is_loopback(request.url.hostname or ""):  # a page that points its name at this machine
            return PlainTextResponse("This server answers only to its own host name.", 421)
        if "origin" in request.headers:
            return PlainTextResponse("Requests from web pages are refused.", 403)
        return Response(await metrics_text(intake.engine), media_type=CONTENT_TYPE)

    return Route(PATH, metrics, methods=["GET"])


async def _no_metrics(document: Json) -> Rejected:
    """Metrics hold no output to judge: they are counted and left out, so that no exporter fails."""
    points = sum(
        len(listed_values(obj(kind).get("dataPoints")))
        for resource in listed_values(document.get("resourceMetrics"))
        for scope in listed_values(obj(resource).get("scopeMetrics"))
        for metric in listed_values(obj(scope).get("metrics"))
        for kind in obj(metric).values()
        if isinstance(kind, dict)
    )
    return Rejected(points, "metrics are not read: they have no output to judge")
