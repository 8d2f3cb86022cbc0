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
from minions_evals_mcp.operations.views.production import read_production
from minions_evals_mcp.report.documents.forms import FORMS
from minions_evals_mcp.report.documents.page import report_policy
from minions_evals_mcp.store.queries.pages import page_lists
from minions_evals_mcp.view.parameters import engine_of, named, required
from minions_evals_mcp.view.reading_cache import cached
from minions_evals_mcp.view.rendering import part, rendered

PAGE = 50
CAUSES = 500
RUNS = 20
"""Of so many benchmarks it is said what their failures go back to."""


async def failures(request: Request) -> Response:
    """Returns why the newest run of each benchmark failed, by cause: groups first, with cases that show them."""
    return HTMLResponse(await cached(request, "failures", _failures))


async def _failures(engine: Engine) -> str:
    lines = await engine.store.read(partial(page_lists.cause_lines, limit=CAUSES))
    causes: dict[str, list[page_lists.CauseLine]] = {}
    for cause in lines:
        causes.setdefault(cause.cause, []).append(cause)
    shown = await engine.store.read(partial(page_lists.cause_examples, each=3))
    groups = await causes_by_run(engine, list(dict.fromkeys(cause.run_id for cause in lines))[:RUNS])
    titles = {cause.run_id: cause.title for cause in lines}
    has_run = bool(lines) or await engine.store.read(page_lists.has_run)
    return part(
        "failures",
        has_run=has_run,
        store=engine.config.named_db,
        groups=groups,
        titles=titles,
        causes=causes,
        examples=shown,
        whole=sum(line.cases for line in lines),
        production=await read_production(engine),
    )


async def outbox(request: Request) -> Response:
    """Returns what is queued for other agents and people: alerts first, then the newest."""
    engine = engine_of(request)
    before = named(request, "before")
    if before and not (before.isascii() and before.isdecimal() and len(before) < 19):
        raise BadInputError(f"no row {before[:20]!r}.", remedy="Start from the newest.")
    listed = await engine.store.read(
        partial(page_lists.sent_lines, before=int(before) if before else 2**63 - 1, limit=PAGE + 1)
    )
    alerts = [line for line in listed[:PAGE] if line.is_alert]
    rest = [line for line in listed[:PAGE] if not line.is_alert]
    return rendered(
        "outbox", alerts=alerts, sent=rest, last=listed[:PAGE][-1:], more=len(listed) > PAGE, started=bool(before)
    )


async def report(request: Request) -> Response:
    """The whole report as one page, piece by piece; with `compare` beside another run."""
    engine = engine_of(request)
    subject = await find_subject(engine, required(request, "id"), compare=named(request, "compare") or None)
    read = await read_report(engine, subject)
    headers = {"Content-Security-Policy": f"{report_policy(read)}; frame-ancestors 'none'"}
    return StreamingResponse(_pieces(engine, read), media_type="text/html", headers=headers)


async def _pieces(engine: Engine, document: Report) -> AsyncGenerator[str]:
    async with aclosing(FORMS[".html"](engine, document)) as pieces:
        async for piece in pieces:
            yield piece
