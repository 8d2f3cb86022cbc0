"""Failures by cause, the outbox, and whole reports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from minions_evals_mcp.engine.answers.failure_causes import causes_by_run
from minions_evals_mcp.engine.answers.report_data import find_subject, read_report
from minions_evals_mcp.engine.answers.report_values import Report
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.documents.forms import FORMS
from minions_evals_mcp.report.documents.page import report_policy
from minions_evals_mcp.store.queries.pages import page_lists
from minions_evals_mcp.view.asked import engine_of, named, required
from minions_evals_mcp.view.kept import kept
from minions_evals_mcp.view.rendering import part, rendered

PAGE = 50
CAUSES = 500
RUNS = 20
"""Of so many benchmarks it is said what their failures go back to."""


async def failures(request: Request) -> Response:
    """Why the newest run of each benchmark failed, by cause: groups first, with cases that show them."""
    return HTMLResponse(await kept(request, "failures", _failures))


async def _failures(engine: Engine) -> str:
    found = await engine.store.read(partial(page_lists.cause_lines, limit=CAUSES))
    causes: dict[str, list[page_lists.CauseLine]] = {}
    for one in found:
        causes.setdefault(one.cause, []).append(one)
    shown = await engine.store.read(partial(page_lists.cause_examples, each=3))
    groups = await causes_by_run(engine, list(dict.fromkeys(one.run_id for one in found))[:RUNS])
    titles = {one.run_id: one.title for one in found}
    has_run = bool(found) or await engine.store.read(page_lists.has_run)
    return part(
        "failures",
        has_run=has_run,
        groups=groups,
        titles=titles,
        causes=causes,
        examples=shown,
        whole=sum(one.cases for one in found),
    )


async def outbox(request: Request) -> Response:
    """What is queued for other agents and people: alerts first, then the newest."""
    engine = engine_of(request)
    before = named(request, "before")
    if before and not (before.isascii() and before.isdecimal() and len(before) < 19):
        raise BadInputError(f"there is no row {before[:20]!r}.", remedy="Start from the newest.")
    found = await engine.store.read(
        partial(page_lists.sent_lines, before=int(before) if before else 2**63 - 1, limit=PAGE + 1)
    )
    alerts = [one for one in found[:PAGE] if one.is_alert]
    rest = [one for one in found[:PAGE] if not one.is_alert]
    return rendered(
        "outbox", alerts=alerts, sent=rest, last=found[:PAGE][-1:], more=len(found) > PAGE, started=bool(before)
    )


async def report(request: Request) -> Response:
    """The whole report as one page, piece by piece; with `compare` beside another run."""
    engine = engine_of(request)
    subject = await find_subject(engine, required(request, "id"), compare=named(request, "compare") or None)
    found = await read_report(engine, subject)
    headers = {"Content-Security-Policy": f"{report_policy(found)}; frame-ancestors 'none'"}
    return StreamingResponse(_pieces(engine, found), media_type="text/html", headers=headers)


async def _pieces(engine: Engine, found: Report) -> AsyncGenerator[str]:
    async with aclosing(FORMS[".html"](engine, found)) as pieces:
        async for piece in pieces:
            yield piece
