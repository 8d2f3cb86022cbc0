"""The tests of `value is NAME(argument)`, and `select` and `reject` by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from minions_evals_mcp.scoring.nunjucks.values import (
    UNDEFINED,
    JsFunction,
    Undefined,
    compared,
    identical,
    is_number,
    to_number,
    truth,
)


def _unlike(value: object, other: object) -> bool:
    return not identical(value, other)


def _is(value: object, *, other: object) -> bool:
    return value is other


def _is_a(value: object, *, kind: type) -> bool:
    return isinstance(value, kind)


def _defined(value: object) -> bool:
    return value is not UNDEFINED


def _falsy(value: object) -> bool:
    return not truth(value)


def _divisible(value: object, by: object) -> bool:
    divisor = to_number(by)
    return divisor != 0 and to_number(value) % divisor == 0


def _even(value: object) -> bool:
    return to_number(value) % 2 == 0


def _odd(value: object) -> bool:
    number = to_number(value)
    return number > 0 and number % 2 == 1  # a negative number leaves a negative rest there


def _in_case(value: object, *, upper: bool) -> bool:
    if not isinstance(value, str):
        raise ValueError("a test of its case needs a text")  # noqa: TRY004  a template's mistake, told with it
    return value == (value.upper() if upper else value.lower())


def _iterable(value: object) -> bool:
    if value is None or isinstance(value, Undefined):
        raise ValueError("there is nothing to iterate over")
    return isinstance(value, str | list | range)


CONDITIONS: Mapping[str, Callable[..., Any]] = {
    "callable": partial(_is_a, kind=JsFunction),
    "defined": _defined,
    "divisibleby": _divisible,
    "eq": identical,
    "equalto": identical,
    "even": _even,
    "falsy": _falsy,
    "ge": partial(compared, "gteq"),
    "greaterthan": partial(compared, "gt"),
    "gt": partial(compared, "gt"),
    "iterable": _iterable,
    "le": partial(compared, "lteq"),
    "lessthan": partial(compared, "lt"),
    "lower": partial(_in_case, upper=False),
    "lt": partial(compared, "lt"),
    "mapping": partial(_is_a, kind=dict),
    "ne": _unlike,
    "none": partial(_is, other=None),
    "null": partial(_is, other=None),
    "number": is_number,
    "odd": _odd,
    "sameas": identical,
    "string": partial(_is_a, kind=str),
    "truthy": truth,
    "undefined": partial(_is, other=UNDEFINED),
    "upper": partial(_in_case, upper=True),
}
