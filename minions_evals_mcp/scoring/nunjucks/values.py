"""Values in a Nunjucks template: how JavaScript prints, adds and compares them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import JsonValue

from minions_evals_mcp.scoring.nunjucks.budget import spend_characters, spend_steps
from minions_evals_mcp.scoring.values import js_text

_EXACT = 1e21
"""From here on JavaScript writes an integer with an exponent."""
_EXACT_INTEGERS = 2**53
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?Infinity")
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]+")


class Undefined:
    """The value of a name that nothing bears: prints as nothing, and so does what is looked up in it."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False


UNDEFINED = Undefined()


class Printed:
    """A value that says itself how it is printed."""


class JsFunction:
    """A method, a macro, or another function: it is called, or nothing can be done with it.

    `keywords`: it takes arguments by their names, too.
    """

    def __init__(self, work: Callable[..., object], *, keywords: bool = False) -> None:
        self._work = work
        self.keywords = keywords

    def __call__(self, *arguments: object, **named: object) -> object:
        """Returns what the function gives."""
        try:
            return self._work(*arguments, **named)
        except (AttributeError, IndexError, TypeError) as error:
            raise ValueError(f"a function was called with unsupported arguments: {error}") from None


class JsArray(list[Any]):
    """A list that is true even when it is empty."""

    def __bool__(self) -> bool:
        return True


class JsObject(dict[str, Any]):
    """A mapping that is true even when it is empty."""

    def __bool__(self) -> bool:
        return True


def as_js(value: JsonValue) -> object:
    """The value with JavaScript's idea of truth."""
    match value:
        case list():
            return JsArray(as_js(item) for item in value)
        case dict():
            return JsObject((key, as_js(item)) for key, item in value.items())
        case _:
            return value


def truth(value: object) -> bool:
    """Returns whether JavaScript takes the value for true."""
    return False if isinstance(value, float) and math.isnan(value) else bool(value)


def js_length(value: str | list[object] | range) -> int:
    """The length as JavaScript counts it: a character beyond U+FFFF, such as an emoji, is two."""
    return (
        len(value.encode("utf-16-le", "surrogatepass")) // 2
        if isinstance(value, str) and not value.isascii()
        else len(value)
    )


def js_string(value: object) -> str:
    """The value as Nunjucks prints it: null and what is missing as nothing, a list with commas, an object by its kind."""
    match value:
        case None | Undefined():
            return ""
        case str():
            spend_characters(len(value))
            return value
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case bool() | int() | float():
            return js_text(float(value) if abs(value) >= _EXACT_INTEGERS else value)
        case list() | range():
            members = cast("Sequence[object]", value)
            spend_steps(len(members))
            return ",".join(map(js_string, members))
        case JsFunction():
            raise ValueError("a function is used without a call")
        case Printed():
            return str(value)
        case _:
            return "[object Object]"


def as_added(value: object) -> str:
    """The text of one side of a `+` whose other side is a text."""
    return "null" if value is None else "undefined" if isinstance(value, Undefined) else js_string(value)


def calculated(kind: str, left: object, right: object) -> object:
    """The sum of texts or numbers, or another result of two numbers, as JavaScript has it."""
    if kind == "+" and not (_adds_as_number(left) and _adds_as_number(right)):
        return as_added(left) + as_added(right)
    return whole(_number(kind, to_number(left), to_number(right)))


def concatenated(*parts: object) -> str:
    """The texts of what stands between `~`, as JavaScript adds values to a text."""
    return "".join(map(as_added, parts))


def compared(kind: str, left: object, right: object) -> bool:
    """Returns whether one value comes before the other: two texts by their letters, anything else as numbers."""
    first, other = _primitive(weighed(left)), _primitive(weighed(right))
    if not (isinstance(first, str) and isinstance(other, str)):
        first, other = to_number(first), to_number(other)
    several = cast("tuple[Any, Any]", (first, other))
    match kind:
        case "lt":
            return several[0] < several[1]
        case "lteq":
            return several[0] <= several[1]
        case "gt":
            return several[0] > several[1]
        case _:
            return several[0] >= several[1]


def weighed(value: object) -> object:
    """The value, once everything in it is counted: what compares or dumps it goes over all of that."""
    _weigh(value)
    return value


def _weigh(value: object) -> None:
    match value:
        case str():
            spend_characters(len(value))
        case range():  # a text is looked for in all of it
            spend_steps(len(value))
        case list():
            _weigh_each(cast("list[object]", value))
        case dict():
            _weigh_each(cast("dict[object, object]", value).values())
        case _:
            pass


def _weigh_each(members: Collection[object]) -> None:
    spend_steps(1 + len(members))
    for member in members:
        _weigh(member)


def _adds_as_number(value: object) -> bool:
    return not isinstance(value, str | list | dict | range | JsFunction)


def _primitive(value: object) -> object:
    return js_string(cast("object", value)) if isinstance(value, list | dict | range) else value


def _floored(left: float, right: float) -> float:
    quotient = left / right
    return float(math.floor(quotient)) if math.isfinite(quotient) else quotient


def _raised(left: float, right: float) -> float:
    return math.nan if math.isnan(right) else math.pow(left, right)


_CALCULATIONS: Mapping[str, Callable[[float, float], float]] = {
    "+": float.__add__, "-": float.__sub__, "*": float.__mul__, "/": float.__truediv__, "//": _floored, "%": math.fmod,
    "**": _raised,
}  # fmt: skip


def _number(kind: str, left: float, right: float) -> float:
    try:
        return _CALCULATIONS[kind](left, right)
    except ZeroDivisionError:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    except OverflowError:  # of a power
        return math.inf
    except ValueError:
        return math.nan


def whole(value: float) -> float:
    """The number, as an integer where it is one that JavaScript writes out."""
    return int(value) if abs(value) < _EXACT and float(value).is_integer() else value


def is_number(value: object) -> bool:
    """Returns whether JavaScript calls it a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(left: object, right: object) -> bool:
    """Returns whether two values are equal to JavaScript's `==`: a text and a number by the number."""
    if isinstance(left, Undefined | None) or isinstance(right, Undefined | None):
        return isinstance(left, Undefined | None) and isinstance(right, Undefined | None)
    if isinstance(left, list | dict) and isinstance(right, list | dict):
        return left is right
    first, other = _primitive(weighed(cast("object", left))), _primitive(weighed(right))
    return first == other if isinstance(first, str) and isinstance(other, str) else to_number(first) == to_number(other)


def identical(left: object, right: object) -> bool:
    """Returns whether two values are equal to JavaScript's `===`."""
    if isinstance(left, list | dict | JsFunction) or isinstance(right, list | dict | JsFunction):
        return left is right
    if is_number(left) and is_number(right):
        return left == right
    return type(left) is type(right) and left == right


def to_number(value: object) -> float:
    """The number that a value stands for; NaN where it stands for none."""
    match value:
        case None | bool() | int() | float():
            return _as_float(value or 0)
        case Undefined() | dict() | JsFunction():
            return math.nan
        case _:
            text = js_string(value).strip()
            if _HEXADECIMAL.fullmatch(text):
                return float(int(text, 16))
            return (float(text) if _NUMBER.fullmatch(text) else math.nan) if text else 0.0


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def elements(value: object, *, both: bool) -> Iterable[object]:
    """Returns what a loop goes over: an object's pairs where two names are given, else nothing of it."""
    if not isinstance(value, list | str | range | dict):
        return ()
    spend_steps(len(cast("Sequence[object]", value)))
    if isinstance(value, dict):
        return cast("dict[object, object]", value).items() if both else ()
    return cast("Iterable[object]", value)
