"""From values to pages. Whatever was under test arrives as text and leaves as text: every template escapes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import JsonValue
from starlette.responses import HTMLResponse, Response, StreamingResponse

from minions_evals_mcp.engine.answers.report_data import Side, TrendPoint
from minions_evals_mcp.report import sentences
from minions_evals_mcp.report.charts import chart_css, history_chart
from minions_evals_mcp.report.plain import printable, revealed

REST = Markup("<!-- the rest -->")
LONG = 50_000
"""A text is cut at so many characters."""


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("minions_evals_mcp.view", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.filters.update(line=_line, whole=_whole, when=_when, figure=sentences.number)  # pyright: ignore[reportCallIssue, reportArgumentType]  jinja2 types its own filters only
    found.globals.update(words=sentences, share=sentences.fraction, rest=REST)  # pyright: ignore[reportCallIssue, reportArgumentType]  as above
    return found


def _line(text: str, limit: int = 200) -> str:
    return printable(text, limit)


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _whole(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    if len(text) <= LONG:
        return revealed(text)
    return f"{revealed(text[:LONG])}\n… {len(text) - LONG} more characters: minions-evals report RUN -o FILE.json has them."


def rendered(name: str, *, status: int = 200, **values: object) -> Response:
    """The page of that name."""
    return HTMLResponse(part(name, **values), status)


def part(name: str, **values: object) -> str:
    """The page of that name, or the part of one, as a text."""
    return _templates().get_template(f"{name}.html.j2").render(**values)


def begun(page: str, rest: Callable[[], Awaitable[str]]) -> Response:
    """The page at once, so that it can be painted, and `rest` as soon as it is there: where its template says {{ rest }}."""
    return StreamingResponse(_pieces(page, rest), media_type="text/html")


async def _pieces(page: str, rest: Callable[[], Awaitable[str]]) -> AsyncGenerator[str]:
    before, _, after = page.partition(REST)
    yield before
    yield await rest()
    yield after


def chart(run: Side, points: Sequence[TrendPoint]) -> Markup:
    """The history of that run's benchmark, once there is one; else nothing."""
    return Markup(history_chart(run, points))  # noqa: S704  made by charts.py, whose only text is escaped by its library


@cache
def stylesheet() -> str:
    """How all pages look, in light and dark: as reports do, and what only pages have."""
    shared = files("minions_evals_mcp.report").joinpath("templates/report.css").read_text("utf-8")
    return "\n".join((shared, chart_css(), _own("page.css")))


@cache
def script() -> str:
    """The one script: it renews what is in progress and keeps what a person has begun to write."""
    return _own("page.js")


def _own(name: str) -> str:
    return files("minions_evals_mcp.view").joinpath(f"templates/{name}").read_text("utf-8")
