"""The page: its addresses, what an error looks like on it, and how it is served."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from http import HTTPStatus

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from minions_evals_mcp.bounded_connections import BoundedServer, own_bounds
from minions_evals_mcp.domain.speaker import Role, require_role
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.persons import known_people
from minions_evals_mcp.errors import BadInputError, BusyError, EvalsError, NotAllowedError, NotFoundError
from minions_evals_mcp.network_address import NetworkAddress
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
    noting,
    overview,
    playing,
    production,
    promoting,
    prompts,
    run,
    runs_again,
)
from minions_evals_mcp.view.entrance.door import HOST, METRICS, Guarded, Keys
from minions_evals_mcp.view.entrance.signed_in import SignedIn
from minions_evals_mcp.view.entrance.team import PeopleEntrance
from minions_evals_mcp.view.parameters import engine_of
from minions_evals_mcp.view.reading_cache import ReadingCache
from minions_evals_mcp.view.rendering import rendered
from minions_evals_mcp.view.runs_again import Start
from minions_evals_mcp.view.served_files import file_routes
from minions_evals_mcp.view.signing import OPEN, people_routes

CLOSING_S = 1
USUAL_PORT = 8427
KEYS = ".view-keys.json"
"""Ends the name of the file beside the store that keeps the keys of its page."""


def view_app(engine: Engine, keys: Keys, *, start: Start | None = None) -> Guarded:
    """The pages for this machine's own browser; who speaks through the engine judges there, else whoever brings a person's token.

    `start` has a run go on behind the page; without it none can be started there.
    """
    return Guarded(_pages(engine, routes(), SignedIn(f"{keys.cookie}-judge"), start), keys)


def team_app(engine: Engine, address: NetworkAddress, *, behind_tls: bool, start: Start | None = None) -> Guarded:
    """The pages for people who sign in, each with the role that the store knows; `start` as in `view_app`."""
    people = SignedIn("__Host-minions-evals" if behind_tls else f"minions-evals-{address.port}-person", behind_tls)
    pages = _pages(engine, [*routes(), *people_routes()], people, start)
    return Guarded(pages, PeopleEntrance(engine, address, people, behind_tls, OPEN))


def _pages(engine: Engine, served: Sequence[Route], people: SignedIn, start: Start | None) -> Starlette:
    app = Starlette(
        routes=served,
        exception_handlers={EvalsError: _stopped, HTTPException: _no_page},
    )
    app.state.engine = engine
    app.state.start = start
    app.state.runs = {}
    app.state.kept, app.state.kept_facts = ReadingCache(), ReadingCache(until_event=True)
    app.state.signed_in = people
    return app


class Page(Route):
    """An address of the page. `needs`: the role that whoever signed in must have."""

    def __init__(
        self,
        path: str,
        endpoint: Callable[[Request], Awaitable[Response]],
        *,
        methods: list[str] | None = None,
        needs: Role = "viewer",
    ) -> None:
        async def answered(request: Request) -> Response:
            require_role(engine_of(request).speaker, needs)
            return await endpoint(request)

        super().__init__(path, answered, methods=methods)
        self.needs: Role = needs


def routes() -> list[Page | Route]:
    """Every address of the page."""
    return [
        Page("/", overview.overview),
        Page("/running", overview.running),
        Page("/runs", overview.runs),
        Page("/compare", overview.compare),
        Page("/production", production.production),
        Page("/production/live", production.live),
        Page(METRICS, _metrics),
        Page("/run", run.run),
        Page("/cases", run.cases),
        Page("/progress", run.progress),
        Page("/case", case.case),
        Page("/trajectory", case.trajectory),
        Page("/benchmark", benchmark.benchmark),
        Page("/comparison", changes.comparison),
        Page("/matrix", changes.matrix),
        Page("/costs", costs.costs),
        Page("/find", finding.find),
        Page("/failures", lists.failures),
        Page("/prompts", prompts.prompts, methods=["GET"]),
        Page("/prompts", prompts.saved, methods=["POST"], needs="editor"),
        Page("/outbox", lists.outbox),
        Page("/report", lists.report),
        Page("/again", runs_again.again, methods=["GET"], needs="editor"),
        Page("/again", runs_again.started, methods=["POST"], needs="editor"),
        Page("/stop", runs_again.stopped, methods=["POST"], needs="editor"),
        Page("/promote", promoting.promoted, methods=["POST"], needs="editor"),
        Page("/ab", ab.ab_test),
        Page("/audit", audits.audit),
        Page("/agreement", judging.agreement),
        Page("/label", judging.label, methods=["POST"], needs="judge"),
        Page("/assign", judging.assignment, methods=["GET"], needs="editor"),
        Page("/assign", judging.assigned, methods=["POST"], needs="editor"),
        Page("/judge", judging.question, methods=["GET"], needs="judge"),
        Page("/judge", judging.judged, methods=["POST"], needs="judge"),
        Page("/play", playing.said, methods=["POST"], needs="judge"),
        Page("/note", noting.noted, methods=["POST"], needs="judge"),
        Page("/user", playing.labelled, methods=["POST"], needs="judge"),
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
        case NotAllowedError():
            return HTTPStatus.FORBIDDEN
        case BadInputError():
            return HTTPStatus.BAD_REQUEST
        case BusyError():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR


async def _no_page(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException)
    return rendered(
        "stopped",
        status=error.status_code,
        message="There is no page at this address." if error.status_code == HTTPStatus.NOT_FOUND else error.detail,
        remedy="Start from the overview.",
    )


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


async def serve(engine: Engine, listening: socket.socket, *, browse: bool, opened: Callable[[str], None]) -> None:
    """Serves this machine's own browser until the process is told to end; `opened` is told the address."""
    keys = Keys.kept(listening.getsockname()[1], engine.config.db.with_name(engine.config.db.name + KEYS))
    opened(keys.url)
    async with anyio.create_task_group() as tasks:
        if browse:
            tasks.start_soon(anyio.to_thread.run_sync, webbrowser.open, keys.url)
        await _serve(view_app(engine, keys, start=tasks.start_soon), listening)
        tasks.cancel_scope.cancel()  # a run that was started here stops where it is; its key goes on


async def serve_team(
    engine: Engine,
    listening: socket.socket,
    address: NetworkAddress,
    *,
    behind_tls: bool,
    opened: Callable[[NetworkAddress, int], None],
) -> None:
    """Serves people who sign in until the process is told to end; `opened` is told the address, and how many people can sign in."""
    address = replace(address, port=listening.getsockname()[1])
    opened(address, sum(person.has_token for person in await known_people(engine)))
    async with anyio.create_task_group() as tasks:
        await _serve(team_app(engine, address, behind_tls=behind_tls, start=tasks.start_soon), listening)
        tasks.cancel_scope.cancel()  # as above


async def _serve(app: Guarded, listening: socket.socket) -> None:
    await BoundedServer(app, own_bounds(), closing_s=CLOSING_S).serve([listening])
