"""What each filter of Nunjucks makes of a value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast
from urllib.parse import quote

from jinja2 import Undefined

from minions_evals_mcp.scoring.nunjucks_budget import spend_characters, spend_steps
from minions_evals_mcp.scoring.nunjucks_values import (
    JsArray,
    JsMethod,
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


def _trimmed(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("trim needs a text")  # noqa: TRY004  a template's mistake, told with the template
    return value.strip()


def _int(value: object, other: object = "") -> object:
    found = re.match(r"\s*[-+]?\d+", js_string(value))
    return int(found.group()) if found else other


def _float(value: object, other: object = "") -> object:
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


def _sorted(
    value: object,
    backwards: object = False,  # noqa: FBT002  nunjucks's order
    case_counts: object = False,  # noqa: FBT002  as above
    attribute: object = None,
) -> object:
    found = _list(value)
    keys = [_attribute(one, attribute) for one in found]
    if not all(is_number(key) for key in keys):
        keys = [js_string(key) if case_counts else js_string(key).lower() for key in keys]
    order = sorted(range(len(found)), key=cast("list[Any]", keys).__getitem__, reverse=bool(backwards))
    return JsArray(found[at] for at in order)


def _attribute(value: object, name: object) -> object:
    """What stands under that name, steps with dots between; the value itself without a name."""
    for step in js_string(name).split(".") if name else ():
        value = cast("dict[str, object]", value).get(step, JsUndefined()) if isinstance(value, dict) else JsUndefined()
    return value


def _escaped(value: object) -> str:
    marks = {"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;", "`": "&#96;"}
    return "".join(marks.get(one, one) for one in js_string(value))


def _title(value: object) -> str:
    return " ".join(word[:1].upper() + word[1:].lower() for word in js_string(value).split(" "))


def _first(value: object) -> object:
    return next(iter(_list(value)), JsUndefined())


def _last(value: object) -> object:
    return next(iter(_list(value)[::-1]), JsUndefined())


def _joined(value: object, between: object = "", attribute: object = None) -> str:
    if isinstance(value, str):
        raise ValueError("join needs a list, not a text")  # noqa: TRY004  as above
    parts, joint = [_attribute(one, attribute) for one in _list(value)], js_string(between)
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
    "trim": _trimmed,
    "truncate": _truncated,
    "upper": _wrapped(str.upper),
    "urlencode": _wrapped(lambda text: quote(text, safe="-_.!~*'()")),
    "wordcount": _wrapped(lambda text: len(re.findall(r"\w+", text)) or ""),  # of no words Nunjucks counts none, not 0
}
"""The filters that Nunjucks has and that come out alike, and promptfoo's `load`."""


def _place(value: float | None, length: int, otherwise: int) -> int:
    """Where JavaScript's `slice` begins or ends."""
    if value is None:
        return otherwise
    at = int(value)
    return max(length + at, 0) if at < 0 else min(at, length)


def _sliced(held: Any, start: float | None = None, end: float | None = None) -> Any:
    return held[_place(start, len(held), 0) : _place(end, len(held), len(held))]


def _substring(text: str, start: float = 0, end: float | None = None) -> str:
    first, last = sorted(min(max(int(one), 0), len(text)) for one in (start, len(text) if end is None else end))
    return text[first:last]


def _replace_in(text: str, old: str, new: str, *, most: int) -> str:
    if "$" in new:
        raise ValueError("a replacement with $ is not carried out")
    spend_characters(len(text) + len(new) * (len(text) if most < 0 else 1))
    return text.replace(old, new, most)


def _split(text: str, by: str | None = None) -> list[str]:
    if by is None:
        return [text]
    spend_steps(len(text))
    return list(text) if by == "" else text.split(by)


def _padded(text: str, width: float, fill: str = " ", *, before: bool) -> str:
    missing = max(int(width) - len(text), 0)
    spend_characters(missing)
    filled = (fill * (missing // len(fill) + 1))[:missing] if fill else ""
    return filled + text if before else text + filled


def _repeated(text: str, times: float) -> str:
    if times < 0:
        raise ValueError("it is repeated less than 0 times")
    spend_characters(len(text) * int(times))
    return text * int(times)


def _join_list(values: list[Any], by: str = ",") -> str:
    texts = ["" if value is None else js_string(value) for value in values]
    spend_characters(sum(map(len, texts)) + len(by) * len(texts))
    return by.join(texts)


def _at(held: Any, index: float = 0) -> Any:
    place = int(index)
    return held[place] if -len(held) <= place < len(held) else JsUndefined(name="at")


def _holds(held: Any, part: object) -> bool:
    return str(part) in held if isinstance(held, str) else _index(held, part) >= 0


def _index(held: Any, part: object) -> int:
    if isinstance(held, str):
        return held.find(str(part))
    return next((at for at, other in enumerate(cast("list[object]", held)) if same(part, other)), -1)


def _char(text: str, index: float = 0) -> str:
    return text[int(index)] if 0 <= index < len(text) else ""


def _with(text: str, *parts: object) -> str:
    return text + "".join(map(js_string, parts))


_OF_BOTH: dict[str, Callable[..., Any]] = {"slice": _sliced, "includes": _holds, "indexOf": _index, "at": _at}
_OF_TEXTS: dict[str, Callable[..., Any]] = {
    **_OF_BOTH, "toUpperCase": str.upper, "toLowerCase": str.lower, "trim": str.strip, "trimStart": str.lstrip,
    "trimEnd": str.rstrip, "substring": _substring, "split": _split, "replace": partial(_replace_in, most=1),
    "replaceAll": partial(_replace_in, most=-1), "startsWith": str.startswith, "endsWith": str.endswith, "concat": _with,
    "padStart": partial(_padded, before=True), "padEnd": partial(_padded, before=False), "repeat": _repeated, "charAt": _char,
    "toString": str,
}  # fmt: skip
_OF_LISTS: dict[str, Callable[..., Any]] = {**_OF_BOTH, "join": _join_list}
METHODS = frozenset(_OF_TEXTS) | frozenset(_OF_LISTS)
"""The methods of texts and lists that a template may call."""


def method(held: object, name: object) -> JsMethod | None:
    """JavaScript's method of that name, bound to a text or a list."""
    table = _OF_TEXTS if isinstance(held, str) else _OF_LISTS
    found = table.get(str(name)) if isinstance(held, str | list) else None
    return None if found is None else JsMethod(partial(found, held))
