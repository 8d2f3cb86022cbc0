"""The pages on which runs stand beside each other: a comparison of two, and a matrix of several."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import get_args

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from minions_evals_mcp.engine.answers.pages.change_page import read_change_page
from minions_evals_mcp.engine.answers.pages.matrix_page import MatrixColumn, MatrixFilter, MatrixPage, read_matrix_page
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.operations.views.run_card import RunCard, run_card, setting_of
from minions_evals_mcp.report.charts.scatter import Priced, scatter
from minions_evals_mcp.store.queries.pages.matrix_cells import Only
from minions_evals_mcp.view.parameters import engine_of, named, page_number, required
from minions_evals_mcp.view.reading_cache import cached
from minions_evals_mcp.view.rendering import in_seconds, money, part, rendered

PAGES = {"compact": 100, "": 30, "roomy": 15}
"""Rows of a page by their density."""


async def comparison(request: Request) -> Response:
    """Two runs: by the id of their comparison, else `before` and `after`."""
    ident = named(request, "id")
    before, after = ("", "") if ident else (required(request, "before"), required(request, "after"))
    make = partial(_comparison, ident=ident, before=before, after=after)
    return HTMLResponse(await cached(request, "comparison", make, ident, before, after))


async def _comparison(engine: Engine, *, ident: str, before: str, after: str) -> str:
    page = await read_change_page(engine, ident, before=before, after=after)
    sides = (page.before.side.summary.run_id, page.after.side.summary.run_id)
    return part("comparison", page=page, cards=await _cards(engine, *sides))


async def _cards(engine: Engine, before: str, after: str) -> RunCard | str | None:
    """The score cards of both runs with what changed, else why they could not be made; None where their benchmark keeps none."""
    if await setting_of(engine, after) is None:
        return None
    try:
        return await run_card(engine, after, compare=before)
    except EvalsError as error:
        return error.text


def _only(text: str) -> Only:
    if text not in get_args(Only):
        raise BadInputError(f"unknown filter {text[:20]!r}.", remedy="Use only=apart, only=failed or only=noted.")
    return text  # pyright: ignore[reportReturnType]  checked above


async def matrix(request: Request) -> Response:
    """The cases of a benchmark under several runs: those that `run` names, else its config's columns, else its versions."""
    number = page_number(request)
    filter_ = MatrixFilter(
        run_ids=tuple(request.query_params.getlist("run")),
        only=_only(named(request, "only")),
        text=named(request, "q").strip(),
        hidden=tuple(request.query_params.getlist("hide")),
        base=named(request, "base"),
        sort=named(request, "sort"),
        check=named(request, "check"),
    )
    density = named(request, "density")
    if density not in PAGES:
        raise BadInputError(f"unknown density {density[:20]!r}.", remedy="Use density=compact or density=roomy.")
    size = PAGES[density]
    page = await read_matrix_page(
        engine_of(request), required(request, "id"), filter_, skip=(number - 1) * size, limit=size
    )
    query = {
        "id": page.benchmark_id, "run": filter_.run_ids, "only": filter_.only, "q": filter_.text, "hide": filter_.hidden,
        "base": filter_.base, "check": filter_.check, "sort": filter_.sort, "density": density,
    }  # fmt: skip
    parameters = {name: value for name, value in query.items() if value}
    return rendered(
        "matrix", page=page, number=number, size=size, asked=filter_, query=parameters, density=density,
        by_cost=_by_price(page, "cost of a test", lambda column: column.cost_per_test, money),
        by_time=_by_price(page, "mean time of an output", lambda column: column.latency_ms, in_seconds),
    )  # fmt: skip


def _by_price(
    page: MatrixPage, what: str, price: Callable[[MatrixColumn], float | None], shown: Callable[[float], str]
) -> Markup:
    """The columns that have that price, drawn by it and their score."""
    priced = [
        Priced(f"{one.name} {one.target}".strip(), cost, one.run.overall_score, one.run.score_ci)
        for one in page.columns
        if one.run is not None and (cost := price(one)) is not None
    ]
    return Markup(scatter(priced, what=what, shown=shown))  # noqa: S704  made by scatter, which escapes every text
