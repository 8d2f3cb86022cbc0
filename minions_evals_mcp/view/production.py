"""The page of production traces: volume, pass rate, causes and the newest failing, filtered, renewed while somebody looks."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.operations.views.production import USUAL_HOURS, ProductionFilter, read_production
from minions_evals_mcp.report.charts.volume import volume
from minions_evals_mcp.view.parameters import named
from minions_evals_mcp.view.reading_cache import cached
from minions_evals_mcp.view.rendering import part, unless_seen

SPANS = {1: "last hour", 24: "last 24 hours", 24 * 7: "last 7 days", 24 * 30: "last 30 days", 24 * 90: "last 90 days"}
PICKED = ("agent", "rubric", "tag", "version", "model")


async def production(request: Request) -> Response:
    """The judged traces that fit the address."""
    return HTMLResponse(await _shown(request, "production"))


async def live(request: Request) -> Response:
    """The part of the page that is renewed."""
    return unless_seen(request, await _shown(request, "production_live"))


async def _shown(request: Request, template: str) -> str:
    only = _asked(request)
    return await cached(request, template, partial(_read, only=only, template=template), *only.model_dump().values())


def _asked(request: Request) -> ProductionFilter:
    hours = named(request, "hours") or str(USUAL_HOURS)
    if hours not in {str(span) for span in SPANS}:
        raise BadInputError(f"unknown time span {hours[:20]!r}.", remedy=f"Choose {', '.join(map(str, SPANS))} hours.")
    return ProductionFilter(hours=int(hours), **{name: named(request, name) for name in PICKED})


async def _read(engine: Engine, *, only: ProductionFilter, template: str) -> str:
    page = await read_production(engine, only)
    query = {
        name: value
        for name, value in only.model_dump(by_alias=False).items()
        if value and (name, value) != ("hours", USUAL_HOURS)
    }
    drawn = volume(
        [(point.at, point.passed, point.judged - point.passed) for point in page.points],
        label="judged traces over time, passed and failed; the table below has the figures",
    )
    return part(template, page=page, only=only, query=query, spans=SPANS, drawn=drawn)
