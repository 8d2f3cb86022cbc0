"""Running a benchmark from its page, again or for the first time: the cost first, then the run, which goes on behind the page."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

import anyio
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from minions_evals_mcp.engine.answers.run_again import Again, again_request, read_again
from minions_evals_mcp.engine.run.run_benchmark import Started, silent, start_benchmark
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.view.parameters import engine_of, form_of
from minions_evals_mcp.view.rendering import rendered

Start = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
"""Has work go on behind the page until the page is ended."""


async def again(request: Request) -> Response:
    """What the benchmark's first run, or one like an earlier one, would do and cost."""
    page = await read_again(engine_of(request), _again_request(request.query_params))
    return rendered("again", page=page, store=engine_of(request).config.named_db)


async def started(request: Request) -> Response:
    """Starts the run and leads to its page, where it can be followed."""
    engine, request_again = engine_of(request), _again_request(await form_of(request))
    start: Start | None = request.app.state.start
    if start is None:
        raise BadInputError("no run can be started from here.", remedy="Start it with minions-evals run-benchmark.")
    run = await start_benchmark(engine, await again_request(engine, request_again))
    followed_here(request, start, run)
    return RedirectResponse(f"/run?{urlencode({'id': run.job.id})}", 303)


def followed_here(request: Request, start: Start, run: Started) -> None:
    """Has the run go on behind this page, where it can be stopped."""
    scope = anyio.CancelScope()
    runs_here(request)[run.job.id] = scope
    start(partial(_finished, run, scope, runs_here(request)))


def runs_here(request: Request) -> dict[str, anyio.CancelScope]:
    """The runs that go on behind this page, by id."""
    return cast("dict[str, anyio.CancelScope]", request.app.state.runs)


async def stopped(request: Request) -> Response:
    """Stops a run that was started here; what was judged is kept."""
    run_id = (await form_of(request)).get("id", "")
    scope = runs_here(request).get(run_id)
    if scope is None:
        raise BadInputError(
            "that run was not started from this page.",
            remedy="Stop it where it was started. Ctrl-C saves its progress.",
        )
    scope.cancel()
    return RedirectResponse(f"/run?{urlencode({'id': run_id})}", 303)


async def _finished(run: Started, scope: anyio.CancelScope, runs: dict[str, anyio.CancelScope]) -> None:
    try:
        with suppress(EvalsError), scope:  # the run's page says why it stopped, and how it goes on
            await run.finish(silent)
    finally:
        del runs[run.job.id]


def _again_request(form: Mapping[str, str]) -> Again:
    cap = form.get("cap", "").strip()
    try:
        most = float(cap) if cap else None
    except ValueError:
        raise BadInputError(f"{cap[:40]!r} is not an amount of money.", remedy="Enter dollars as a number.") from None
    if most is not None and not most > 0:
        raise BadInputError("the cost cap must be above 0.", remedy="Enter dollars as a number, or leave it empty.")
    return Again(
        run_id=form.get("id", ""), benchmark_id=form.get("benchmark", ""), version=form.get("version", ""),
        failed_only=form.get("cases") == "failed", max_cost_usd=most,
    )  # fmt: skip
