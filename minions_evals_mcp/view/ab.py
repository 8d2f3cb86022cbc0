"""The page of an A/B test: who wins by what, how sure that is, and the branches beside each other."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.engine.ab_test.titled import titled_ab_test
from minions_evals_mcp.report import ab_words
from minions_evals_mcp.view.parameters import engine_of, required
from minions_evals_mcp.view.rendering import rendered


async def ab_test(request: Request) -> Response:
    """An A/B test, its branches by rank."""
    result, title = await titled_ab_test(engine_of(request), required(request, "id"))
    return rendered("ab", found=result, title=title, figures=ab_words)
