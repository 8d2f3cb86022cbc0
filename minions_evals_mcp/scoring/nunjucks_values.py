"""Values in a Nunjucks template: how JavaScript prints, adds and compares them, and what each filter makes of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast
from urllib.parse import quote

from jinja2 import ChainableUndefined, Undefined
from pydantic import JsonValue

from minions_evals_mcp.scoring.assertions.values import js_text

MOST_CHARACTERS = 1_000_000
SAME, PAIRS = "js_same", "js_pairs"
"""What `==` and `for` are rewritten to; no template can name them by chance."""


class JsUndefined(ChainableUndefined):
    """What nothing bears the name of: prints as nothing, and so does what is looked up in it."""

    __slots__ = ()


class _JsArray(list[Any]):
    """A list that is true even when it is empty."""

    def __bool__(self) -> bool:
        return True


class _JsObject(dict[str, Any]):
    """A mapping that is true even when it is empty."""

    def __bool__(self) -> bool:
        return True


def as_js(value: JsonValue) -> object:
    """The value with JavaScript's idea of truth."""
    match value:
        case list():
            return _JsArray(as_js(one) for one in value)
        case dict():
            return _JsObject((key, as_js(one)) for key, one in value.items())
        case _:
            return value


def js_string(value: object) -> str:
    """The value as Nunjucks prints it: null and what is missing as nothing, a list with commas, an object by its kind."""
    match value:
        case None | Undefined():
            return ""
        case str():
            return value
        case bool() | int() | float():
            return js_text(value)
        case list() | tuple():
            return ",".join(js_string(one) for one in cast("Sequence[object]", value))
        case range():
            return ",".join(map(str, value))
        case _:
            return "[object Object]"


def calculated(operator: str, left: object, right: object) -> object:
    """The sum of texts or numbers, or another result of two numbers; raises `ValueError` for what JavaScript makes NaN of."""
    if operator == "+" and not (_is_number(left) and _is_number(right)):
        return _added(left) + _added(right)
    if not _is_number(left) or not _is_number(right):
        raise ValueError(f"{operator} needs two numbers")
    return _number(operator, float(cast("float", left)), float(cast("float", right)))


def _added(value: object) -> str:
    """The text of one side of a `+`."""
    return "null" if value is None else "undefined" if isinstance(value, Undefined) else js_string(value)


def _number(operator: str, left: float, right: float) -> float:
    match operator:
        case "+":
            return _whole(left + right)
        case "-":
            return _whole(left - right)
        case "*":
            return _whole(left * right)
        case "/":
            return _whole(left / right)
        case "//":
            return _whole(math.floor(left / right))
        case "%":
            return _whole(math.fmod(left, right))
        case _:
            return _whole(math.pow(left, right))


def _whole(value: float) -> float:
    return int(value) if value.is_integer() else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(left: object, right: object) -> bool:
    """Whether two values are equal to JavaScript's `==`: a text and a number by the number."""
    if isinstance(left, Undefined | None) or isinstance(right, Undefined | None):
        return isinstance(left, Undefined | None) and isinstance(right, Undefined | None)
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    try:
        return _to_number(left) == _to_number(right)
    except ValueError:
        return False


def _to_number(value: object) -> float:
    text = js_string(value) if not isinstance(value, bool) else str(int(value))
    return float(text) if text.strip() else 0.0


def _elements(value: object, both: bool) -> Iterable[object]:  # noqa: FBT001  a filter's argument
    """What a loop goes over: an object's pairs where two names are given, else nothing of it."""
    if isinstance(value, dict):
        return cast("dict[object, object]", value).items() if both else ()
    return cast("Iterable[object]", value) if isinstance(value, list | str | range) else ()


def _default(value: object, other: object = "", also_false: bool = False) -> object:  # noqa: FBT001, FBT002  as above
    return other if isinstance(value, Undefined) or (also_false and not value) else value


def _dumped(value: object, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(None if isinstance(value, Undefined) else value, ensure_ascii=False, indent=indent, separators=separators)


def _replaced(value: object, old: object, new: object, most: int = -1) -> str:
    found = js_string(value).replace(js_string(old), js_string(new), most)
    if len(found) > MOST_CHARACTERS:
        raise ValueError(f"replace makes more than {MOST_CHARACTERS:,} characters")
    return found


def _truncated(value: object, length: int = 255, whole: bool = False, end: str = "...") -> str:  # noqa: FBT001, FBT002  as above
    text = js_string(value)
    if len(text) <= length:
        return text
    head = text[:length]
    space = head.rfind(" ")
    return (head if whole or space == -1 else head[:space]) + end


def _indented(value: object, width: int = 4, first: bool = False) -> str:  # noqa: FBT001, FBT002  as above
    lines = js_string(value).split("\n")
    return "\n".join(" " * min(width, 100) + line if number or first else line for number, line in enumerate(lines))


def _int(value: object, other: object = 0) -> object:
    found = re.match(r"\s*[-+]?\d+", js_string(value))
    return int(found.group()) if found else other


def _float(value: object, other: object = 0) -> object:
    found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)", js_string(value))
    return _whole(float(found.group())) if found else other


def _rounded(value: object, precision: int = 0) -> float:
    scale = 10.0**precision
    return _whole(math.floor(_to_number(value) * scale + 0.5) / scale)


def _reversed(value: object) -> object:
    return value[::-1] if isinstance(value, str) else _JsArray(reversed(_list(value)))


def _list(value: object) -> list[object]:
    if not isinstance(value, list | str | range):
        raise ValueError("it needs a list")  # noqa: TRY004  a template's mistake, told with the template
    return list(cast("Iterable[object]", value))


def _length(value: object) -> int:
    return len(cast("list[object]", value)) if isinstance(value, list | str | dict | range) else 0


def _sorted(value: object) -> object:
    found = _list(value)
    if all(_is_number(one) for one in found):
        return _JsArray(sorted(cast("list[float]", found)))
    return _JsArray(sorted(found, key=lambda one: js_string(one).lower()))


def _escaped(value: object) -> str:
    marks = {"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;", "`": "&#96;"}
    return "".join(marks.get(one, one) for one in js_string(value))


def _title(value: object) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in js_string(value).split(" "))


FILTERS: dict[str, Callable[..., Any]] = {
    SAME: _same,
    PAIRS: _elements,
    "abs": lambda value: abs(_whole(_to_number(value))),
    "capitalize": lambda value: js_string(value)[:1].upper() + js_string(value)[1:].lower(),
    "d": _default,
    "default": _default,
    "dump": _dumped,
    "e": _escaped,
    "escape": _escaped,
    "first": lambda value: next(iter(_list(value)), JsUndefined()),
    "float": _float,
    "indent": _indented,
    "int": _int,
    "join": lambda value, between="": js_string(between).join(map(js_string, _list(value))),
    "last": lambda value: next(iter(_list(value)[::-1]), JsUndefined()),
    "length": _length,
    "list": lambda value: _JsArray(_list(value)),
    "load": lambda value: as_js(json.loads(js_string(value))),
    "lower": lambda value: js_string(value).lower(),
    "nl2br": lambda value: js_string(value).replace("\n", "<br />\n"),
    "replace": _replaced,
    "reverse": _reversed,
    "round": _rounded,
    "safe": js_string,
    "sort": _sorted,
    "string": js_string,
    "sum": lambda value: _whole(math.fsum(map(_to_number, _list(value)))),
    "title": _title,
    "trim": lambda value: js_string(value).strip(),
    "truncate": _truncated,
    "upper": lambda value: js_string(value).upper(),
    "urlencode": lambda value: quote(js_string(value), safe="-_.!~*'()"),
    "wordcount": lambda value: len(re.findall(r"\w+", js_string(value))),
}
"""The filters that Nunjucks has and that come out alike, and promptfoo's `load`."""
