"""The page: its addresses, what an error looks like on it, and how it is served on this machine alone."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from http import HTTPStatus

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from minions_evals_mcp.bounded_connections import BoundedServer, own_bounds
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, BusyError, EvalsError, NotFoundError
from minions_evals_mcp.operations.views.metrics import CONTENT_TYPE, metrics_text
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.view import (
    ab,
    audits,
    benchmark,
    case,
    changes,
    costs,
    finding,
    judging,
    lists,
    overview,
    playing,
    production,
    promoting,
    prompts,
    run,
    runs_again,
)
from minions_evals_mcp.view.door import HOST, METRICS, Guarded, Keys
from minions_evals_mcp.view.parameters import engine_of
from minions_evals_mcp.view.reading_cache import ReadingCache
from minions_evals_mcp.view.rendering import rendered
from minions_evals_mcp.view.runs_again import Start
from minions_evals_mcp.view.served_files import file_routes
from minions_evals_mcp.view.signed_in import SignedIn

CLOSING_S = 1
USUAL_PORT = 8427
KEYS = ".view-keys.json"
"""Ends the name of the file beside the store that keeps the keys of its page."""


def view_app(engine: Engine, keys: Keys, *, start: Start | None = None) -> Guarded:
    """The pages behind their door; who speaks through the engine judges there, else whoever brings a person's token.

    `start` has a run go on behind the page; without it none can be started there.
    """
    app = Starlette(
        routes=routes(),
        exception_handlers={EvalsError: _stopped, HTTPException: _no_page},
    )
    app.state.engine = engine
    app.state.start = start
    app.state.runs = {}
    app.state.kept = ReadingCache()
    app.state.signed_in = SignedIn(f"{keys.cookie}-judge")
    return Guarded(app, keys)


def routes() -> list[Route]:
    """Every address of the page."""
    return [
        Route("/", overview.overview),
        Route("/running", overview.running),
        Route("/runs", overview.runs),
        Route("/compare", overview.compare),
        Route("/production", production.production),
        Route("/production/live", production.live),
        Route(METRICS, _metrics),
        Route("/run", run.run),
        Route("/cases", run.cases),
        Route("/progress", run.progress),
        Route("/case", case.case),
        Route("/trajectory", case.trajectory),
        Route("/benchmark", benchmark.benchmark),
        Route("/comparison", changes.comparison),
        Route("/matrix", changes.matrix),
        Route("/costs", costs.costs),
        Route("/find", finding.find),
        Route("/failures", lists.failures),
        Route("/prompts", prompts.prompts, methods=["GET"]),
        Route("/prompts", prompts.saved, methods=["POST"]),
        Route("/outbox", lists.outbox),
        Route("/report", lists.report),
        Route("/again", runs_again.again, methods=["GET"]),
        Route("/again", runs_again.started, methods=["POST"]),
        Route("/stop", runs_again.stopped, methods=["POST"]),
        Route("/promote", promoting.promoted, methods=["POST"]),
        Route("/ab", ab.ab_test),
        Route("/audit", audits.audit),
        Route("/agreement", judging.agreement),
        Route("/label", judging.label, methods=["POST"]),
        Route("/judge", judging.question, methods=["GET"]),
        Route("/judge", judging.judged, methods=["POST"]),
        Route("/play", playing.said, methods=["POST"]),
        Route("/user", playing.labelled, methods=["POST"]),
        *file_routes(),
    ]


async def _metrics(request: Request) -> Response:
    return Response(await metrics_text(engine_of(request)), media_type=CONTENT_TYPE)


async def _stopped(request: Request, error: Exception) -> Response:
    assert isinstance(error, EvalsError)
    store = engine_of(request).config.named_db
    message, remedy = in_store(error.message_text, store), in_store(error.remedy_text, store)
    return rendered("stopped", status=_status(error), message=message, remedy=remedy)


def _status(error: EvalsError) -> HTTPStatus:
    match error:
        case NotFoundError():
            return HTTPStatus.NOT_FOUND
        case BadInputError():
            return HTTPStatus.BAD_REQUEST
        case BusyError():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR


async def _no_page(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException)
    return rendered("stopped", status=error.status_code, message=error.detail, remedy="Start from the overview.")


def listening(port: int | None = None) -> socket.socket:
    """The bound socket; without a port the usual one, else any that is free, as for 0.

    Raises `BadInputError` where a port that was named cannot be had.
    """
    if port is None:
        try:
            return socket.create_server((HOST, USUAL_PORT))
        except OSError:
            return socket.create_server((HOST, 0))
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise BadInputError(
            f"cannot listen on {HOST}:{port}: {error.strerror or error}.", remedy="Choose another --port."
        ) from None


async def serve(engine: Engine, bound: socket.socket, *, browse: bool, opened: Callable[[str], None]) -> None:
    """Serves until the process is told to end; `opened` is told the address."""
    keys = Keys.kept(bound.getsockname()[1], engine.config.db.with_name(engine.config.db.name + KEYS))
    opened(keys.url)
    async with anyio.create_task_group() as tasks:
        server = BoundedServer(view_app(engine, keys, start=tasks.start_soon), own_bounds(), closing_s=CLOSING_S)
        if browse:
            tasks.start_soon(anyio.to_thread.run_sync, webbrowser.open, keys.url)
        await server.serve([bound])
        tasks.cancel_scope.cancel()  # a run that was started here stops where it is; its key goes on
