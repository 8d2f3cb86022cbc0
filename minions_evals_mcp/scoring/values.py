"""The return of a type's function, and how a value that was written down is compared."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.frozen_types import tuples_of
from minions_evals_mcp.scoring.checks import Checked

Frozen = str | float | tuple[object, ...] | None

_EXACT_INTEGERS, _LONG_INTEGERS = 2**53, 1e21
_PLAIN_FRACTIONS = 1e-6


class UnweightedResult(NamedTuple):
    """The finding of a check, before `not-` and weight.

    `reason` states a fact that holds whether or not the type is negated. `score` is 0 to 1, None where it is only
    1 or 0. `negated_score` is the score under `not-` where it is not 1 - score. `parts` are the checks that it is made of,
    `named` the metrics that code gives.
    """

    passed: bool
    reason: str
    score: float | None = None
    negated_score: float | None = None
    parts: tuple[Checked, ...] = ()
    named: tuple[MetricScore, ...] = ()


_result = tuples_of(UnweightedResult)


def finding(passed: bool, reason: str) -> UnweightedResult:  # noqa: FBT001  as its type takes it
    """The finding of a check that has no score but 1 or 0, in half the time that its type takes."""
    return _result((passed, reason, None, None, (), ()))


def js_text(value: JsonValue) -> str:
    """The text of a scalar as JavaScript writes it, so that a number in a config means what it means to promptfoo."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            return _float_text(value)
        case _:
            return str(value)


def js_json(value: JsonValue) -> str:
    """The value as `JSON.stringify` writes it: its names in the order in which it was given, scalars as JavaScript has them."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return f"[{','.join(map(js_json, value))}]"
        case dict():
            return f"{{{','.join(f'{json.dumps(name, ensure_ascii=False)}:{js_json(item)}' for name, item in value.items())}}}"
        case _:
            return js_text(value)


def searched_text(value: JsonValue) -> str:
    """The text of what an output says, as promptfoo searches it."""
    return value if isinstance(value, str) else js_json(value)


def _float_text(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value.is_integer() and abs(value) < _EXACT_INTEGERS:
        return str(int(value))
    if _PLAIN_FRACTIONS <= abs(value) < _LONG_INTEGERS:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent):+d}"


def excerpt(value: object, limit: int = 80) -> str:
    """A quoted excerpt that fits into a reason."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def frozen(value: JsonValue) -> Frozen:
    """A hashable form that is equal exactly where two JSON values are: 1 is 1.0, but true is not 1."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("list", *map(frozen, value))
        case dict():
            return ("object", frozenset((key, frozen(inner)) for key, inner in value.items()))
        case _:
            return value
