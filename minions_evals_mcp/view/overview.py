"""The front page: how everything stands and what needs somebody; and the list of all runs."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.answers.run_list import read_changes, read_facets, read_runs
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.views.production import read_production
from minions_evals_mcp.report.sentences import KIND_OF_RUN, STATE_SIGNS
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.pages import page_lists
from minions_evals_mcp.store.queries.pages.page_lists import RunFilter
from minions_evals_mcp.store.queries.pages.production import count_judged_traces
from minions_evals_mcp.store.queries.pages.run_terms import run_terms
from minions_evals_mcp.view.parameters import engine_of, named, page_number
from minions_evals_mcp.view.reading_cache import cached
from minions_evals_mcp.view.rendering import part, rendered, unless_seen

PAGE = 50
NEWEST = 10
IN_PROGRESS = ("running", "awaiting-judgments")
PRODUCTION = "production"
"""The kind of runs that judge production traces."""


async def overview(request: Request) -> Response:
    """Returns what needs somebody, what goes on, the benchmarks with their newest run, which version to ship."""
    engine, page = engine_of(request), page_number(request)
    return rendered(
        "overview",
        running=await read_runs(engine, skip=0, limit=NEWEST, only=RunFilter(states=IN_PROGRESS)),
        found=await read_overview(engine, skip=(page - 1) * PAGE, limit=PAGE),
        production=await read_production(engine),
        page=page,
        size=PAGE,
    )


async def running(request: Request) -> Response:
    """The part of the overview that is renewed while somebody looks."""
    lines = await read_runs(engine_of(request), skip=0, limit=NEWEST, only=RunFilter(states=IN_PROGRESS))
    return unless_seen(request, part("running", running=lines))


async def runs(request: Request) -> Response:
    """The runs that fit what the address asks for, the newest first, with their number and what they can be narrowed by."""
    engine, page = engine_of(request), page_number(request)
    expression, only = named(request, "q").strip(), _asked(request)
    lines = await read_runs(engine, skip=(page - 1) * PAGE, limit=PAGE, only=only)
    found = await cached(request, "facets", partial(read_facets, only=only), only)
    subject = only.subject_id or ""
    titles = await engine.store.read(partial(report_units.titles, idents=[subject]))
    query = {
        "of": subject, "version": only.version, "target": only.target, "kind": named(request, "kind"),
        "state": "".join(only.states), "q": expression,
    }  # fmt: skip
    of_traces = 0 if only.of_traces or query["kind"] else await engine.store.read(count_judged_traces)
    return rendered(
        "runs",
        runs=lines,
        changes=await read_changes(engine, lines),
        found=found,
        page=page,
        size=PAGE,
        query={name: value for name, value in query.items() if value},
        title=titles.get(subject, subject),
        of_traces=of_traces,
    )


def _asked(request: Request) -> RunFilter:
    kind, state = named(request, "kind"), named(request, "state")
    if kind and kind not in (kinds := [*KIND_OF_RUN, PRODUCTION]):
        raise BadInputError(f"unknown kind of run {kind[:40]!r}.", remedy=f"Choose {', '.join(kinds)}.")
    if state and state not in STATE_SIGNS:
        raise BadInputError(f"unknown state {state[:40]!r}.", remedy=f"Choose {', '.join(STATE_SIGNS)}.")
    is_production, terms = kind == PRODUCTION, run_terms(named(request, "q"))
    unsaid = None if named(request, "of") or terms else False  # who looks for one finds those of traces too
    return RunFilter(
        states=(state,) if state else (),
        subject_id=named(request, "of") or None,
        kind="" if is_production else kind,
        version=named(request, "version"),
        target=named(request, "target"),
        terms=terms,
        of_traces=is_production or unsaid,
    )


async def compare(request: Request) -> Response:
    """Two runs that were ticked, the earlier first, beside each other."""
    ticked = request.query_params.getlist("run")
    if len(ticked) != 2:
        raise BadInputError(f"{len(ticked)} runs are selected.", remedy="Select two runs of one benchmark.")
    found = await engine_of(request).store.read(partial(page_lists.in_order, idents=ticked))
    if len(found) != 2:
        raise BadInputError("a selected run does not exist.", remedy="Select two runs of one benchmark.")
    return RedirectResponse(f"/comparison?{urlencode({'before': found[0], 'after': found[1]})}", 303)
