"""JavaScript's methods of texts, lists and numbers that a template may call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any, cast

from minions_evals_mcp.scoring.nunjucks.budget import spend_characters, spend_steps
from minions_evals_mcp.scoring.nunjucks.regexes import JsRegExp
from minions_evals_mcp.scoring.nunjucks.values import (
    UNDEFINED,
    JsArray,
    JsFunction,
    as_added,
    identical,
    is_number,
    js_string,
)

_MOST_DIGITS, _EXACT = 100, 1e21


def _place(value: float | None, length: int, otherwise: int) -> int:
    """Returns where JavaScript's `slice` begins or ends."""
    if value is None:
        return otherwise
    at = int(value)
    return max(length + at, 0) if at < 0 else min(at, length)


def _sliced(held: Any, start: float | None = None, end: float | None = None) -> Any:
    return held[_place(start, len(held), 0) : _place(end, len(held), len(held))]


def _substring(text: str, start: float = 0, end: float | None = None) -> str:
    first, last = sorted(min(max(int(place), 0), len(text)) for place in (start, len(text) if end is None else end))
    return text[first:last]


def _replace_in(text: str, old: str | JsRegExp, new: str | JsFunction, *, most: int) -> str:
    if isinstance(old, JsRegExp):
        if most < 0 and not old.everywhere:
            raise ValueError("replaceAll wants an expression with the flag g")
        return old.replaced(text, new)
    if isinstance(new, JsFunction) or "$" in new:
        raise ValueError("a replacement with $ is not supported")
    spend_characters(len(text) + len(new) * (len(text) if most < 0 else 1))
    return text.replace(old, new, most)


def _split(text: str, by: str | JsRegExp | None = None) -> list[Any]:
    if isinstance(by, JsRegExp):
        return by.parts(text)
    if by is None:
        return [text]
    spend_steps(len(text))
    return list(text) if by == "" else text.split(by)


def _matched(text: str, by: object) -> object:
    return _expression(by).matches(text)


def _searched(text: str, by: object) -> int:
    return _expression(by).searched(text)


def _expression(by: object) -> JsRegExp:
    if not isinstance(by, JsRegExp):
        raise ValueError("it wants a regular expression")  # noqa: TRY004  a template's mistake, told with it
    return by


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
    return held[place] if -len(held) <= place < len(held) else UNDEFINED


def _holds(held: Any, part: object) -> bool:
    return str(part) in held if isinstance(held, str) else _index(held, part) >= 0


def _index(held: Any, part: object) -> int:
    if isinstance(held, str):
        return held.find(str(part))
    return next((at for at, other in enumerate(cast("list[object]", held)) if identical(part, other)), -1)


def _char(text: str, index: float = 0) -> str:
    return text[int(index)] if 0 <= index < len(text) else ""


def _with(text: str, *parts: object) -> str:
    return text + "".join(map(as_added, parts))


def _lists_joined(held: list[Any], *parts: object) -> JsArray:
    made = JsArray(held)
    for part in parts:
        made.extend(cast("list[Any]", part) if isinstance(part, list) else [part])
    spend_steps(len(made))
    return made


def _last_index(held: Any, part: object) -> int:
    if isinstance(held, str):
        return held.rfind(str(part))
    return next((at for at in reversed(range(len(held))) if identical(part, held[at])), -1)


def _pushed(held: list[Any], *values: object) -> int:
    spend_steps(len(values))
    held.extend(values)
    return len(held)


def _turned(held: list[Any]) -> list[Any]:
    held.reverse()
    return held


def _ordered(held: list[Any]) -> list[Any]:
    spend_steps(len(held))
    held.sort(key=as_added)
    return held


def _popped(held: list[Any], *, at: int) -> object:
    return held.pop(at) if held else UNDEFINED


def _fixed(number: float, digits: float = 0) -> str:
    places = int(digits)
    if not 0 <= places <= _MOST_DIGITS or abs(number) >= _EXACT:
        raise ValueError("toFixed is not supported for that number, or that many digits")
    return str(Decimal(number).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def _own(held: dict[str, Any], name: object) -> bool:
    return js_string(name) in held


_OF_BOTH: dict[str, Callable[..., Any]] = {
    "slice": _sliced,
    "includes": _holds,
    "indexOf": _index,
    "at": _at,
    "lastIndexOf": _last_index,
}
_OF_TEXTS: dict[str, Callable[..., Any]] = {
    **_OF_BOTH, "toUpperCase": str.upper, "toLowerCase": str.lower, "trim": str.strip, "trimStart": str.lstrip,
    "trimEnd": str.rstrip, "substring": _substring, "split": _split, "replace": partial(_replace_in, most=1),
    "replaceAll": partial(_replace_in, most=-1), "startsWith": str.startswith, "endsWith": str.endswith, "concat": _with,
    "padStart": partial(_padded, before=True), "padEnd": partial(_padded, before=False), "repeat": _repeated, "charAt": _char,
    "toString": str, "match": _matched, "search": _searched,
}  # fmt: skip
_OF_LISTS: dict[str, Callable[..., Any]] = {
    **_OF_BOTH, "join": _join_list, "concat": _lists_joined, "push": _pushed, "toString": js_string,
    "reverse": _turned, "sort": _ordered, "pop": partial(_popped, at=-1), "shift": partial(_popped, at=0),
}  # fmt: skip
_OF_NUMBERS: dict[str, Callable[..., Any]] = {"toFixed": _fixed, "toString": js_string}
_OF_OBJECTS: dict[str, Callable[..., Any]] = {"hasOwnProperty": _own}
METHODS = frozenset({"test", "exec"}).union(_OF_TEXTS, _OF_LISTS, _OF_NUMBERS, _OF_OBJECTS)
"""The methods that a template may call."""
_NONE: Mapping[str, Callable[..., Any]] = {}


def method(held: object, name: object) -> JsFunction | None:
    """JavaScript's method of that name, bound to a text, a list, a number or an object."""
    function = _table(held).get(str(name))
    return None if function is None else JsFunction(partial(function, held))


def _table(held: object) -> Mapping[str, Callable[..., Any]]:
    match held:
        case str():
            return _OF_TEXTS
        case list():
            return _OF_LISTS
        case dict():
            return _OF_OBJECTS
        case _:
            return _OF_NUMBERS if is_number(held) else _NONE
