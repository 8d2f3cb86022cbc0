"""The page of a run: its answer at once, then its cases; both are renewed while it goes on."""

from __future__ import annotations

import hashlib
from functools import partial

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.report_data import criteria
from minions_evals_mcp.engine.answers.run_head import RunHead, read_run_head
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.report.sentences import run_answer
from minions_evals_mcp.store.queries.pages import run_cases
from minions_evals_mcp.store.queries.pages.run_cases import SORTS, CaseFilter
from minions_evals_mcp.view.asked import engine_of, named, page_number, required
from minions_evals_mcp.view.overview import IN_PROGRESS
from minions_evals_mcp.view.rendering import begun, part

PAGE = 100
TAGS = 12


async def run(request: Request) -> Response:
    """A run: the answer first, then a page of its cases, then where it passed."""
    engine = engine_of(request)
    head = await read_run_head(engine, required(request, "id"))
    asked, query = _asked(request, head)
    first = part("run", head=head, answer=run_answer(head.side), live=_live(head))
    return begun(first, partial(_rest, engine, head, asked, query, page_number(request)))


async def cases(request: Request) -> Response:
    """The table of cases alone: the part that is renewed while the run goes on."""
    engine = engine_of(request)
    head = await read_run_head(engine, required(request, "id"))
    asked, query = _asked(request, head)
    return _unless_seen(request, await _table(engine, head, asked, query, page_number(request)))


async def progress(request: Request) -> Response:
    """The answer and the figures alone, which are renewed while the run goes on."""
    head = await read_run_head(engine_of(request), required(request, "id"))
    return _unless_seen(request, part("progress", head=head, answer=run_answer(head.side), live=_live(head)))


def _live(head: RunHead) -> bool:
    return head.side.summary.state in IN_PROGRESS


def _asked(request: Request, head: RunHead) -> tuple[CaseFilter, Json]:
    """What the address asks for, and the same as an address."""
    sort = named(request, "sort")
    name = sort.removeprefix("-")
    if name not in SORTS:
        raise BadInputError(
            f"cases are not sorted by {name[:40]!r}.", remedy=f"Sort by {', '.join(filter(None, SORTS))}."
        )
    asked = CaseFilter(
        status=named(request, "status"),
        cause=named(request, "cause"),
        tag=named(request, "tag"),
        text=named(request, "q").strip(),
        sort=name,  # pyright: ignore[reportArgumentType]  checked above
        falling=sort.startswith("-"),
    )
    told = {
        "q": asked.text, "status": asked.status, "cause": asked.cause, "tag": asked.tag, "sort": sort,
        "columns": named(request, "columns"),
    }  # fmt: skip
    return asked, {"id": head.side.summary.run_id, **{name: value for name, value in told.items() if value}}


async def _rest(engine: Engine, head: RunHead, asked: CaseFilter, query: Json, page: int) -> str:
    """What grows with the run: the cases, then passes by criterion and tag."""
    table = await _table(engine, head, asked, query, page)
    summary = head.side.summary
    before = None if head.before is None else head.before.run_id
    means = await engine.store.read(partial(criteria, run_id=summary.run_id, before=before))
    tags = await engine.store.read(partial(run_cases.tag_lines, run_id=summary.run_id, limit=TAGS))
    return table + part("run_bars", summary=summary, criteria=means, tags=tags)


async def _table(engine: Engine, head: RunHead, asked: CaseFilter, query: Json, page: int) -> str:
    summary = head.side.summary
    before = None if head.before is None else head.before.run_id
    found, fitting = await engine.store.read(
        partial(
            run_cases.case_lines, run_id=summary.run_id, asked=asked, before=before, skip=(page - 1) * PAGE, limit=PAGE
        )
    )
    tags = await engine.store.read(partial(run_cases.run_tags, run_id=summary.run_id, limit=TAGS))
    return part(
        "run_cases", summary=summary, cases=found, asked=asked, query=query, columns=query.get("columns", ""), fitting=fitting,
        page=page, size=PAGE, live=_live(head), tags=tags,
    )  # fmt: skip


def _unless_seen(request: Request, text: str) -> Response:
    """The part, or only the word that it is what the browser shows already."""
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304)
    return HTMLResponse(text, headers={"ETag": tag})
