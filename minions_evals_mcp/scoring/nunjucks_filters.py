"""What each filter of Nunjucks makes of a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, cast
from urllib.parse import quote

from jinja2 import Undefined

from minions_evals_mcp.scoring.nunjucks_budget import spend_characters, spend_steps
from minions_evals_mcp.scoring.nunjucks_values import (
    JsArray,
    JsUndefined,
    as_js,
    elements,
    is_number,
    js_string,
    same,
    to_number,
    weighed,
    whole,
)

MOST_CHARACTERS = 1_000_000
SAME, PAIRS, WEIGHED = "js_same", "js_pairs", "js_weighed"
"""What `==`, `for` and the sides of other comparisons are rewritten to; no template can name them by chance."""


def _default(value: object, other: object = "", also_false: bool = False) -> object:  # noqa: FBT001, FBT002  as above
    return other if isinstance(value, Undefined) or (also_false and not value) else value


def _dumped(value: object, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(
        None if isinstance(value, Undefined) else weighed(value),
        ensure_ascii=False,
        indent=indent,
        separators=separators,
    )


def _replaced(value: object, old: object, new: object, most: int = -1) -> str:
    text, before, after = js_string(value), js_string(old), js_string(new)
    times = text.count(before) if most < 0 else min(text.count(before), most)
    if len(text) + times * (len(after) - len(before)) > max(MOST_CHARACTERS, len(text)):
        raise ValueError(f"replace makes more than {MOST_CHARACTERS:,} characters")
    return text.replace(before, after, most)


def _truncated(value: object, length: int = 255, entire: bool = False, end: str = "...") -> str:  # noqa: FBT001, FBT002  as above
    text = js_string(value)
    if len(text) <= length:
        return text
    head = text[:length]
    space = head.rfind(" ")
    return (head if entire or space == -1 else head[:space]) + end


def _indented(value: object, width: int = 4, first: bool = False) -> str:  # noqa: FBT001, FBT002  as above
    lines = js_string(value).split("\n")
    spend_characters(len(lines) * min(max(width, 0), 100))
    return "\n".join(" " * min(width, 100) + line if number or first else line for number, line in enumerate(lines))


def _int(value: object, other: object = 0) -> object:
    found = re.match(r"\s*[-+]?\d+", js_string(value))
    return int(found.group()) if found else other


def _float(value: object, other: object = 0) -> object:
    found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)", js_string(value))
    return whole(float(found.group())) if found else other


def _rounded(value: object, precision: int = 0) -> float:
    scale = 10.0**precision
    return whole(math.floor(to_number(value) * scale + 0.5) / scale)


def _reversed(value: object) -> object:
    return value[::-1] if isinstance(value, str) else JsArray(reversed(_list(value)))


def _list(value: object) -> list[object]:
    if not isinstance(value, list | str | range):
        raise ValueError("it needs a list")  # noqa: TRY004  a template's mistake, told with the template
    spend_steps(len(cast("list[object]", value)))
    return list(cast("Iterable[object]", value))


def _length(value: object) -> int:
    return len(cast("list[object]", value)) if isinstance(value, list | str | dict | range) else 0


def _sorted(value: object) -> object:
    found = _list(value)
    if all(is_number(one) for one in found):
        return JsArray(sorted(cast("list[float]", found)))
    return JsArray(sorted(found, key=lambda one: js_string(one).lower()))


def _escaped(value: object) -> str:
    marks = {"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;", "`": "&#96;"}
    return "".join(marks.get(one, one) for one in js_string(value))


def _title(value: object) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in js_string(value).split(" "))


def _first(value: object) -> object:
    return next(iter(_list(value)), JsUndefined())


def _last(value: object) -> object:
    return next(iter(_list(value)[::-1]), JsUndefined())


def _joined(value: object, between: object = "") -> str:
    parts, joint = _list(value), js_string(between)
    spend_characters(len(parts) * len(joint))
    return joint.join(map(js_string, parts))


def _capitalized(value: object) -> str:
    return js_string(value)[:1].upper() + js_string(value)[1:].lower()


def _array(value: object) -> object:
    return JsArray(_list(value))


def _sum(value: object) -> float:
    return whole(math.fsum(map(to_number, _list(value))))


def _wrapped(work: Callable[[str], object]) -> Callable[[object], object]:
    """A filter of the value's text."""
    return lambda value: work(js_string(value))


FILTERS: dict[str, Callable[..., Any]] = {
    SAME: same,
    PAIRS: elements,
    WEIGHED: weighed,
    "abs": _wrapped(lambda text: abs(whole(to_number(text)))),
    "capitalize": _capitalized,
    "d": _default,
    "default": _default,
    "dump": _dumped,
    "e": _escaped,
    "escape": _escaped,
    "first": _first,
    "float": _float,
    "indent": _indented,
    "int": _int,
    "join": _joined,
    "last": _last,
    "length": _length,
    "list": _array,
    "load": _wrapped(lambda text: as_js(json.loads(text))),
    "lower": _wrapped(str.lower),
    "nl2br": _wrapped(lambda text: text.replace("\n", "<br />\n")),
    "replace": _replaced,
    "reverse": _reversed,
    "round": _rounded,
    "safe": js_string,
    "sort": _sorted,
    "string": js_string,
    "sum": _sum,
    "title": _title,
    "trim": _wrapped(str.strip),
    "truncate": _truncated,
    "upper": _wrapped(str.upper),
    "urlencode": _wrapped(lambda text: quote(text, safe="-_.!~*'()")),
    "wordcount": _wrapped(lambda text: len(re.findall(r"\w+", text)) or ""),  # of no words Nunjucks counts none, not 0
}
"""The filters that Nunjucks has and that come out alike, and promptfoo's `load`."""
