"""The pages that show: the overview, benchmarks, runs, cases, causes of failures, the outbox, and whole reports."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from minions_evals_mcp.engine.answers.report_data import (
    Report,
    Side,
    cases_at,
    criteria,
    find_subject,
    history,
    read_report,
    read_side,
)
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.report.forms import FORMS
from minions_evals_mcp.report.sentences import run_answer
from minions_evals_mcp.store import records
from minions_evals_mcp.store.queries import listings, page_lists, report_units
from minions_evals_mcp.store.queries.page_lists import CaseFilter
from minions_evals_mcp.store.queries.waiting_outputs import count_waiting
from minions_evals_mcp.view.asked import engine_of, named, page_number, required
from minions_evals_mcp.view.rendering import begun, chart, part, rendered

PAGE = 50
NEWEST = 10
IN_PROGRESS = ("running", "awaiting-judgments")
REPORT_POLICY = (  # the report's own, stricter policy stands in its head and allows by digest what this one allows at all
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)


async def benchmark(request: Request) -> Response:
    """A benchmark's history, and its runs."""
    engine, ident = engine_of(request), required(request, "id")
    record = await engine.store.read(lambda db: records.minion(db, ident))
    if record is None or record.type != "benchmark":
        raise NotFoundError("benchmark", ident, remedy="The overview lists them.")
    lines = await engine.store.read(partial(page_lists.run_lines, skip=0, limit=NEWEST, subject_id=ident))
    newest = await engine.store.read(partial(report_units.newest_run, benchmark_id=ident))
    if newest is None:
        return rendered("benchmark", benchmark=record, runs=lines, side=None)
    side = await read_side(engine, newest)
    points = await engine.store.read(partial(history, summary=side.summary))
    return rendered(
        "benchmark",
        benchmark=record,
        runs=lines,
        side=side,
        history=points,
        answer=run_answer(side),
        chart=chart(side, points),
    )


async def case(request: Request) -> Response:
    """One case of a run, whole."""
    engine, run_id = engine_of(request), required(request, "run")
    position, _, trial = required(request, "at").partition(".")
    if not (position.isdecimal() and trial.isdecimal() and len(position) < 10 and len(trial) < 10):
        raise BadInputError("the address names no case of a run.", remedy="Start from the run's page.")
    found = await cases_at(engine, run_id, [(int(position), int(trial))])
    if not found:
        raise NotFoundError("case of that run", f"{run_id} {position}.{trial}", remedy="Start from the run's page.")
    run_title = (await read_side(engine, run_id)).title
    judged = [one.criterion_id for one in found[0].shown.judgments]
    titles = await engine.store.read(partial(report_units.titles, idents=judged))
    return rendered("case", case=found[0], run_id=run_id, run_title=run_title, titles=titles)


async def failures(request: Request) -> Response:
    """Why the newest run of each benchmark failed, by cause."""
    engine = engine_of(request)
    found = await engine.store.read(partial(page_lists.cause_lines, limit=500))
    causes: dict[str, list[page_lists.CauseLine]] = {}
    for one in found:
        causes.setdefault(one.cause, []).append(one)
    return rendered("failures", causes=causes)


async def outbox(request: Request) -> Response:
    """What is queued for other agents and people, the newest first."""
    engine = engine_of(request)
    before = named(request, "before")
    if before and not (before.isascii() and before.isdecimal() and len(before) < 19):
        raise BadInputError(f"there is no row {before[:20]!r}.", remedy="Start from the newest.")
    found = await engine.store.read(
        partial(page_lists.sent_lines, before=int(before) if before else 2**63 - 1, limit=PAGE + 1)
    )
    return rendered("outbox", sent=found[:PAGE], more=len(found) > PAGE, started=bool(before))


async def report(request: Request) -> Response:
    """The whole report as one page, piece by piece; with `compare` beside another run."""
    engine = engine_of(request)
    subject = await find_subject(engine, required(request, "id"), compare=named(request, "compare") or None)
    found = await read_report(engine, subject)
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return StreamingResponse(_pieces(engine, found), media_type="text/html", headers=headers)


async def _pieces(engine: Engine, found: Report) -> AsyncGenerator[str]:
    async with aclosing(FORMS[".html"](engine, found)) as pieces:
        async for piece in pieces:
            yield piece
