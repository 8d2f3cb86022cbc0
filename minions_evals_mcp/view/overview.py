"""The front page: how everything stands and what needs somebody; and the list of all runs."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.answers.run_list import read_changes, read_runs
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.view.parameters import engine_of, named, page_number
from minions_evals_mcp.view.rendering import part, rendered, unless_seen

PAGE = 50
NEWEST = 10
IN_PROGRESS = ("running", "awaiting-judgments")


async def overview(request: Request) -> Response:
    """Returns what needs somebody, what goes on, the benchmarks with their newest run, which version to ship."""
    engine, page = engine_of(request), page_number(request)
    return rendered(
        "overview",
        running=await read_runs(engine, skip=0, limit=NEWEST, states=IN_PROGRESS),
        found=await read_overview(engine, skip=(page - 1) * PAGE, limit=PAGE),
        page=page,
        size=PAGE,
    )


async def running(request: Request) -> Response:
    """The part of the overview that is renewed while somebody looks."""
    lines = await read_runs(engine_of(request), skip=0, limit=NEWEST, states=IN_PROGRESS)
    return unless_seen(request, part("running", running=lines))


async def runs(request: Request) -> Response:
    """All runs, the newest first; with `of` those of one benchmark or test case."""
    engine, page, subject = engine_of(request), page_number(request), named(request, "of")
    lines = await read_runs(engine, skip=(page - 1) * PAGE, limit=PAGE + 1, subject_id=subject or None)
    titles = await engine.store.read(partial(report_units.titles, idents=[subject]))
    return rendered(
        "runs",
        runs=lines[:PAGE],
        changes=await read_changes(engine, lines[:PAGE]),
        more=len(lines) > PAGE,
        page=page,
        subject=subject,
        title=titles.get(subject, subject),
    )
