"""The page of a benchmark: where it is heading, by version and by target, and its runs."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from minions_evals_mcp.engine.answers.pages.benchmark_page import BenchmarkPage, level_names, read_benchmark_page
from minions_evals_mcp.engine.answers.pages.case_map import read_case_map
from minions_evals_mcp.engine.answers.report_values import ReportTrendPoint
from minions_evals_mcp.engine.answers.run_list import read_runs
from minions_evals_mcp.engine.answers.what_changed import what_changed
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.report.charts.trend import trend_chart, trend_figures
from minions_evals_mcp.report.sentences import run_answer
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.pages.page_lists import RunFilter
from minions_evals_mcp.view.parameters import required
from minions_evals_mcp.view.reading_cache import cached
from minions_evals_mcp.view.rendering import begun, part

NEWEST = 10


async def benchmark(request: Request) -> Response:
    """A benchmark's history, and its runs."""
    ident = required(request, "id")
    page = await cached(request, "benchmark-page", partial(read_benchmark_page, ident=ident), ident)
    first = await cached(request, "benchmark", partial(_first, page=page, ident=ident), ident)
    if not page.points:
        return HTMLResponse(first)
    return begun(first, partial(cached, request, "levels", partial(_levels, page=page, ident=ident), ident))


async def _first(engine: Engine, *, page: BenchmarkPage, ident: str) -> str:
    """The page but for its levels."""
    lines = await read_runs(engine, skip=0, limit=NEWEST, only=RunFilter(subject_id=ident))
    answer = "" if page.side is None else run_answer(page.side)
    chart, figures = _chart(page)
    return part(
        "benchmark", page=page, runs=lines, answer=answer, chart=chart, figures=figures, store=engine.config.named_db
    )


async def _levels(engine: Engine, *, page: BenchmarkPage, ident: str) -> str:
    """Since when the benchmark stands where it does, and why: what takes longer to read than the rest."""
    changes = await what_changed(engine, ident)
    named = await engine.store.read(partial(level_names, changes=changes))
    idents = [case.test_case_id for case in changes.flaky]
    levels = part("levels", found=named, titles=await engine.store.read(partial(report_units.titles, idents=idents)))
    case_map = await read_case_map(engine, page)
    return levels if case_map is None else levels + part("case_map", page=page, map=case_map)


def _chart(page: BenchmarkPage) -> tuple[Markup, str]:
    """The drawing of the history, and the figures from which the page's script makes a chart to look closer at."""
    if page.side is None or len(page.points) < 2:
        return Markup(""), ""
    threshold = page.side.threshold or None
    drawn = trend_chart(page.points, threshold=threshold, label="", names=page.names, link=_run_address)
    figures = trend_figures(
        page.points, threshold=threshold, names=page.names, levels=page.levels, moved=page.moved, link=_run_address
    )
    return Markup(drawn), figures  # noqa: S704  made by trend_chart, which escapes every text


def _run_address(point: ReportTrendPoint) -> str:
    return f"/run?{urlencode({'id': point.run_id})}"
