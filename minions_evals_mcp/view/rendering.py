"""From values to pages. Whatever was under test arrives as text and leaves as text: every template escapes."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import JsonValue
from starlette.responses import HTMLResponse, Response

from minions_evals_mcp.engine.report_data import Report
from minions_evals_mcp.report import sentences
from minions_evals_mcp.report.charts import chart_css, trend_chart
from minions_evals_mcp.report.plain import printable, revealed

LONG = 50_000
"""A text is cut at so many characters."""


@cache
def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("minions_evals_mcp.view", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.filters.update(line=_line, whole=_whole, when=_when, figure=sentences.number)  # pyright: ignore[reportCallIssue, reportArgumentType]  jinja2 types its own filters only
    found.globals.update(words=sentences, share=sentences.fraction)  # pyright: ignore[reportCallIssue, reportArgumentType]  as above
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
    return HTMLResponse(_templates().get_template(f"{name}.html.j2").render(**values), status)


def chart(report: Report) -> Markup | None:
    """The history of the benchmark, once there is one."""
    if len(report.history) < 2:
        return None
    label = f"Score of {report.run.title} over its last {len(report.history)} runs; the table below has the figures"
    drawn = trend_chart(report.history, threshold=report.run.threshold or None, label=label)
    return Markup(drawn)  # noqa: S704  made by charts.py, whose only text is escaped by its library


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
