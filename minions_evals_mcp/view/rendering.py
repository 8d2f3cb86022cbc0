"""From values to pages. Whatever was under test arrives as text and leaves as text: every template escapes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import JsonValue
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from minions_evals_mcp.domain.failing.failure_types import FAILURE_TYPES
from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.presentation import verdict_words, world_words
from minions_evals_mcp.presentation.typeset import p_words, typeset
from minions_evals_mcp.report import sentences
from minions_evals_mcp.report.charts import changes, marks, timeline
from minions_evals_mcp.report.named_store import in_store
from minions_evals_mcp.report.plain import printable, revealed, sentence_case
from minions_evals_mcp.report.prose import prose
from minions_evals_mcp.scoring.classification.classify import KNOWN_FROM
from minions_evals_mcp.scoring.word_diff import word_diff
from minions_evals_mcp.view import rich_output
from minions_evals_mcp.view.entrance.visitors import may, visitor

REST = Markup("<!-- the rest -->")
LONG = 50_000
"""A text is cut at so many characters."""
ONE_LINE = 90
"""JSON of so many characters stands in one line."""
CENT = 0.01


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("minions_evals_mcp.view"), PackageLoader("minions_evals_mcp.report")]),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    filters = {
        "line": _line, "prose": prose, "whole": _whole, "when": _when, "figure": _figure, "typeset": typeset, "p_value": p_words,
        "money": money, "signed": _signed, "short": short_id,
        "percent": _percent, "seconds": in_seconds, "lasting": _lasting, "urlencode": _query, "sentence_case": sentence_case,
    }  # fmt: skip
    environment.filters.update(filters)  # pyright: ignore[reportCallIssue, reportArgumentType]  jinja2 types its own filters only
    template_globals: dict[str, object] = {
        "words": sentences, "verdicts": verdict_words, "share": sentences.fraction, "rest": REST, "marks": marks, "changes": changes,
        "in_store": in_store, "failure_types": FAILURE_TYPES, "timeline": timeline, "word_diff": word_diff,
        "rich": rich_output, "KNOWN_FROM": KNOWN_FROM, "may": may, "visitor": visitor, "worlds": world_words,
    }  # fmt: skip
    environment.globals.update(template_globals)  # pyright: ignore[reportCallIssue, reportArgumentType]  as above
    return environment


def _query(query: Mapping[str, object] | Sequence[tuple[str, object]]) -> str:
    """Returns what stands behind the question mark of an address; a value of several is told several times."""
    return urlencode(query, doseq=True)  # pyright: ignore[reportArgumentType]  names and texts, or tuples of them


def _line(text: str, limit: int = 200) -> str:
    return printable(text, limit)


def _when(at: datetime | str) -> Markup:
    """The moment as an element that the page's script writes in the reader's zone."""
    moment = (datetime.fromisoformat(at) if isinstance(at, str) else at).astimezone(UTC)
    text = f"{moment.day} {moment:%b %Y, %H:%M} UTC"
    return Markup(f'<time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}">{text}</time>')  # noqa: S704  figures and a month's name


def money(value: float | None) -> str:
    """US dollars, with as many digits as tell something."""
    if value is None:
        return "–"
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.3f}" if value >= CENT else f"${value:#.2g}"


def _figure(value: JsonValue, digits: int = 3) -> str:
    return typeset(sentences.number(value, digits))


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}".replace("-", "\u2212")


def _percent(passed: int, total: int) -> str:
    return f"{100 * passed / total:.0f}\u202f%" if total else "–"


def in_seconds(milliseconds: float | None) -> str:
    """A time in milliseconds below a second, else in seconds."""
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _lasting(milliseconds: float) -> str:
    """A time that is still to pass, in one unit."""
    seconds = milliseconds / 1000
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1, round(seconds))} s"


def _whole(value: JsonValue) -> str:
    text = value if isinstance(value, str) else _laid_out(value)
    if len(text) <= LONG:
        return revealed(text)
    return f"{revealed(text[:LONG])}\n… {len(text) - LONG} more characters: minions-evals report RUN -o FILE.json has them."


def _laid_out(value: JsonValue) -> str:
    """JSON in one line where it is short, else line by line."""
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= ONE_LINE else json.dumps(value, ensure_ascii=False, indent=1)


def rendered(name: str, *, status: int = 200, **values: object) -> Response:
    """The page of that name."""
    return HTMLResponse(part(name, **values), status)


def part(name: str, **values: object) -> str:
    """The page of that name, or the part of one, as a text."""
    return _templates().get_template(f"{name}.html.j2").render(**values)


def unless_seen(request: Request, text: str) -> Response:
    """The part, or only the word that it is what the browser shows already."""
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304)
    return HTMLResponse(text, headers={"ETag": tag})


def begun(page: str, rest: Callable[[], Awaitable[str]]) -> Response:
    """The page at once, so that it can be painted, and `rest` as soon as it is there: where its template says {{ rest }}."""
    return StreamingResponse(_pieces(page, rest), media_type="text/html")


async def _pieces(page: str, rest: Callable[[], Awaitable[str]]) -> AsyncGenerator[str]:
    before, _, after = page.partition(REST)
    yield before
    yield await rest()
    yield after
