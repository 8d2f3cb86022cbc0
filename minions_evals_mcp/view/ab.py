"""The page of an A/B test: who wins by what, how sure that is, and the branches beside each other."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.engine.ab_test.run_ab_test import ab_test_result
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.view.asked import engine_of, required
from minions_evals_mcp.view.rendering import rendered


async def ab_test(request: Request) -> Response:
    """An A/B test, its branches by rank."""
    engine = engine_of(request)
    found = await ab_test_result(engine, required(request, "id"))
    subject = found.test_case_id or found.benchmark_id or found.run_id
    titles = await engine.store.read(partial(report_units.titles, idents=[subject]))
    return rendered("ab", found=found, title=titles.get(subject, subject))
