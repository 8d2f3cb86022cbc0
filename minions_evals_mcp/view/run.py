"""The page of a run: its answer at once, then its cases; both are renewed while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from minions_evals_mcp.engine.answers import report_data
from minions_evals_mcp.engine.answers.run_head import RunHead, read_run_head
from minions_evals_mcp.engine.answers.run_outline import RunOutline, read_run_outline, run_state
from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.operations.views.run_card import card_of_run, setting_of
from minions_evals_mcp.report.sentences import run_answer
from minions_evals_mcp.scoring.score_card import ScoreCard
from minions_evals_mcp.store.queries.pages import run_cases
from minions_evals_mcp.store.queries.pages.run_cases import SORTS, CaseFilter
from minions_evals_mcp.view.case_index import listed
from minions_evals_mcp.view.overview import IN_PROGRESS
from minions_evals_mcp.view.parameters import named, page_number, required
from minions_evals_mcp.view.reading_cache import cached, cached_while_true
from minions_evals_mcp.view.rendering import begun, part, unless_seen
from minions_evals_mcp.view.runs_again import runs_here

PAGE = 100
TAGS = 12
CRITERIA = 8
"""So many criteria have a column of their own."""
COLUMNS = ("output", "expected", "criteria", "input", "cause", "id", "cost", "time")
"""What stands beside case, result and score, each where it is chosen."""
USUAL = ("output", "cost", "time")
Asked = tuple[CaseFilter, tuple[str, ...]]


async def run(request: Request) -> Response:
    """A run: the answer first, then a page of its cases, then where it passed; only the cases where nothing else is exchanged."""
    if request.headers.get("hx-target") == "cases":
        return await cases(request)
    ident, case_filter, number = required(request, "id"), case_query(request), page_number(request)
    head = await cached(request, "head", partial(read_run_head, ident=ident), ident)
    live = head.side.summary.state in IN_PROGRESS
    first = part(
        "run",
        head=head,
        answer=run_answer(head.side),
        live=live,
        stoppable=head.side.summary.run_id in runs_here(request),
    )
    return begun(first, partial(_rest, request, head, case_filter, number))


async def cases(request: Request) -> Response:
    """The table of cases alone: the part that is renewed while the run goes on."""
    ident, case_filter, number = required(request, "id"), case_query(request), page_number(request)
    return unless_seen(request, await _table(request, ident, case_filter, number))


async def progress(request: Request) -> Response:
    """The answer and the figures alone, which are renewed while the run goes on."""
    ident = required(request, "id")
    return unless_seen(request, await cached(request, "progress", partial(_progress, ident=ident), ident))


async def _progress(engine: Engine, *, ident: str) -> str:
    head = await read_run_head(engine, ident)
    live = head.side.summary.state in IN_PROGRESS
    return part("progress", head=head, answer=run_answer(head.side), live=live)


def case_query(request: Request) -> Asked:
    """What the address asks for, and which columns."""
    sort = named(request, "sort")
    name = sort.removeprefix("-")
    if name not in SORTS:
        raise BadInputError(f"cannot sort by {name[:40]!r}.", remedy=f"Sort by {', '.join(filter(None, SORTS))}.")
    case_filter = CaseFilter(
        status=named(request, "status"),
        cause=named(request, "cause"),
        tag=named(request, "tag"),
        text=named(request, "q").strip(),
        sort=name,  # pyright: ignore[reportArgumentType]  checked above
        falling=sort.startswith("-"),
    )
    return case_filter, _columns(request.query_params.getlist("columns"))


def _columns(chosen: Sequence[str]) -> tuple[str, ...]:
    """The columns of an address: those that it names; the usual ones where it says nothing of them."""
    if not chosen:
        return USUAL
    return COLUMNS if "all" in chosen else tuple(name for name in COLUMNS if name in chosen)


def _query(run_id: str, filters: CaseFilter, columns: tuple[str, ...]) -> dict[str, str | list[str]]:
    """The same as an address, without what asks for nothing."""
    parameters: dict[str, str | list[str]] = {
        "q": filters.text,
        "status": filters.status,
        "cause": filters.cause,
        "tag": filters.tag,
        "sort": f"-{filters.sort}" if filters.falling else filters.sort,
        "columns": [] if columns == USUAL else ["chosen", *columns],
    }
    return {"id": run_id, **{name: value for name, value in parameters.items() if value}}


async def _rest(request: Request, head: RunHead, filters: Asked, number: int) -> str:
    """Returns what grows with the run: the cases, then passes by criterion and tag."""
    run_id = head.side.summary.run_id
    table = await _table(request, run_id, filters, number)
    return table + await cached(request, "bars", partial(_bars, head=head), run_id)


async def _bars(engine: Engine, *, head: RunHead) -> str:
    summary = head.side.summary
    before = None if head.before is None else head.before.run_id
    means = await engine.store.read(partial(report_data.criteria, run_id=summary.run_id, before=before))
    tags = await engine.store.read(partial(run_cases.tag_lines, run_id=summary.run_id, limit=TAGS))
    return part("run_bars", summary=summary, criteria=means, tags=tags, card=await _card(engine, summary))


async def _card(engine: Engine, summary: RunSummary) -> ScoreCard | str | None:
    """The card that the benchmark of the run keeps, else why it could not be made; None where it keeps none."""
    if summary.benchmark_run is None or (setting := await setting_of(engine, summary.run_id)) is None:
        return None
    try:
        return await card_of_run(engine, summary.run_id, setting)
    except EvalsError as error:
        return error.text


async def _table(request: Request, ident: str, filters: Asked, number: int) -> str:
    live = await cached(request, "state", partial(run_state, ident=ident), ident) in IN_PROGRESS
    keep = cached if live else cached_while_true
    outline = await keep(request, "outline", partial(read_run_outline, ident=ident, tags=TAGS), ident)
    make = partial(_cases, request=request, outline=outline, case_filter=filters[0], columns=filters[1], number=number)
    return await cached(request, "cases", make, outline.run_id, filters, number)


async def _cases(
    engine: Engine,
    *,
    request: Request,
    outline: RunOutline,
    case_filter: CaseFilter,
    columns: tuple[str, ...],
    number: int,
) -> str:
    places = await listed(request, outline, case_filter, live=outline.state in IN_PROGRESS)
    shown = places[(number - 1) * PAGE : number * PAGE]
    lines = await engine.store.read(
        partial(run_cases.lines_at, run_id=outline.run_id, places=shown, before=outline.before)
    )
    tried = [line.test_run_id for line in lines if line.test_run_id is not None] if "criteria" in columns else []
    points = await engine.store.read(partial(run_cases.points, test_run_ids=tried)) if tried else {}
    criteria = dict.fromkeys(name for scores in points.values() for name in scores)
    query = _query(outline.run_id, case_filter, columns)
    return part(
        "run_cases", run=outline, cases=lines, asked=case_filter, query=query, here={**query, "page": number},
        columns=columns, choices=COLUMNS, usual=USUAL, fitting=len(places), points=points,
        criteria=[*criteria][:CRITERIA], page=number, size=PAGE, live=outline.state in IN_PROGRESS,
    )  # fmt: skip
