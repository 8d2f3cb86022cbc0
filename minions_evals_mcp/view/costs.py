"""The page of costs: what runs cost day by day, and which benchmark costs most."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.engine.answers.pages.costs_page import read_costs
from minions_evals_mcp.report.charts import bars
from minions_evals_mcp.view.parameters import engine_of, named
from minions_evals_mcp.view.rendering import rendered

SPANS = (14, 30, 90)


async def costs(request: Request) -> Response:
    """The costs of the last 14, 30 or 90 days."""
    days_asked = named(request, "days")
    span = int(days_asked) if days_asked in set(map(str, SPANS)) else SPANS[0]
    page = await read_costs(engine_of(request), span)
    return rendered("costs", page=page, spans=SPANS, bars=bars)
