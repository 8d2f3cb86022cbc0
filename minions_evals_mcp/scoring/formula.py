"""Arithmetic over named numbers, as promptfoo's derived metrics write it (the part of mathjs that they use): pure.

Numbers, names, `+ - * / % ^`, comparisons, `and or not`, `a ? b : c`, brackets, and the functions in `FUNCTIONS`.
Truth is 1 and falsehood 0. What else mathjs knows (units, matrices, assignments, texts) is refused by name.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from statistics import fmean

from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.values import excerpt

LONGEST = 500
DEEPEST = 50

Names = Mapping[str, float]
_Node = Callable[[Names], float]


class NoValueError(Exception):
    """The formula has no value for these numbers: says why."""


@frozen_type
class Formula:
    """A formula that was read: `names` are those that it needs."""

    text: str
    names: frozenset[str]
    _root: _Node

    def value(self, names: Names) -> float:
        """Returns what it comes to; raises `NoValueError` for an unknown name, a division by 0 and whatever is no finite number."""
        try:
            value = self._root(names)
        except KeyError as error:
            raise NoValueError(f"there is no metric {error.args[0]!r}") from None
        except (ArithmeticError, ValueError) as error:
            raise NoValueError(str(error)) from None
        if not math.isfinite(value):
            raise NoValueError("the result is not a finite number")
        return value


def _round(number: float, digits: float = 0) -> float:
    """Of the number as it is written, halves away from zero, as in mathjs: 1.005 to two digits is 1.01."""
    written = Decimal(repr(float(number)))
    return float(written.quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP)) if int(digits) < _DIGITS else number


def _equal(first: float, other: float) -> bool:
    """Equal but for what floats lose, as in mathjs: 0.1 + 0.2 is 0.3."""
    return math.isclose(first, other, rel_tol=1e-12, abs_tol=1e-15)


def _modulo(number: float, divisor: float) -> float:
    return number - divisor * math.floor(number / divisor) if divisor else number


FUNCTIONS: dict[str, tuple[Callable[..., float], int, int]] = {
    "abs": (math.fabs, 1, 1), "ceil": (math.ceil, 1, 1), "exp": (math.exp, 1, 1), "floor": (math.floor, 1, 1),
    "log": (math.log, 1, 2), "log10": (math.log10, 1, 1), "log2": (math.log2, 1, 1), "max": (lambda *numbers: max(numbers), 1, 99),
    "mean": (lambda *numbers: fmean(numbers), 1, 99), "min": (lambda *numbers: min(numbers), 1, 99), "pow": (math.pow, 2, 2),
    "round": (_round, 1, 2), "sqrt": (math.sqrt, 1, 1), "sum": (lambda *numbers: math.fsum(numbers), 1, 99),
}  # fmt: skip
"""The functions, with the fewest and the most arguments that each takes."""

_BINARY: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "or": (1, lambda a, b: float(bool(a) or bool(b))),
    "and": (2, lambda a, b: float(bool(a) and bool(b))),
    "==": (3, _equal), "!=": (3, lambda a, b: not _equal(a, b)), "<": (3, lambda a, b: a < b and not _equal(a, b)),
    "<=": (3, lambda a, b: a < b or _equal(a, b)), ">": (3, lambda a, b: a > b and not _equal(a, b)),
    ">=": (3, lambda a, b: a > b or _equal(a, b)),
    "+": (4, operator.add), "-": (4, operator.sub),
    "*": (5, operator.mul), "/": (5, operator.truediv), "%": (5, _modulo),
    "^": (7, math.pow),
}  # fmt: skip
"""How tightly each operator binds, and what it does."""
_UNARY, _COMPARES = 6, 3
_DIGITS = 16
_CONSTANTS = {"true": 1.0, "false": 0.0, "pi": math.pi, "e": math.e}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>==|!=|<=|>=|[-+*/%^<>()?:,]))"
)


def parse_formula(text: str) -> Formula:
    """The formula in a text; raises `InvalidRecordError` for what is none."""
    if len(text) > LONGEST:
        raise _refused(text, f"it has more than {LONGEST:,} characters")
    reading = _Reading(text)
    root = reading.ternary()
    if reading.next:
        raise _refused(text, f"{reading.next!r} is unexpected")
    return Formula(text, frozenset(reading.names), root)


def _refused(text: str, reason: str) -> InvalidRecordError:
    return InvalidRecordError(f"the formula {excerpt(text)} is refused: {reason}", field="value")


class _Reading:
    """One pass over a formula, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()
        self._at = 0
        self._depth = 0
        self.names: set[str] = set()

    @property
    def next(self) -> str:
        """Returns what comes next, "" at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def ternary(self) -> _Node:
        """The widest form that there is."""
        condition = self._nested(lambda: self._binary(1))
        if self.next != "?":
            return condition
        self._take("?")
        yes = self._nested(self.ternary)
        self._take(":")
        no = self._nested(self.ternary)
        return lambda names: yes(names) if condition(names) else no(names)

    def _nested(self, read: Callable[[], _Node]) -> _Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _refused(self._text, f"it nests more than {DEEPEST} deep")
        expression = read()
        self._depth -= 1
        return expression

    def _binary(self, tightest: int) -> _Node:
        left = self._unary()
        while self.next in _BINARY and _BINARY[self.next][0] >= tightest:
            binds, act = _BINARY[self._take()]
            # A power's exponent may hold a sign and further powers: 2 ^ -3 ^ 2.
            right = self._nested(self._unary_power) if binds > _UNARY else self._binary(binds + 1)
            left = _applied(act, left, right)
            if binds == _COMPARES and self.next in _BINARY and _BINARY[self.next][0] == _COMPARES:
                raise _refused(self._text, "comparisons are not chained; write a < b and b < c")
        return left

    def _unary_power(self) -> _Node:
        return self._binary(_UNARY + 1)

    def _unary(self) -> _Node:
        if self.next not in {"-", "+", "not"}:
            return self._primary()
        sign = self._take()
        operand = self._nested(lambda: self._binary(_UNARY))
        if sign == "not":
            return lambda names: float(not operand(names))
        return (lambda names: -operand(names)) if sign == "-" else operand

    def _primary(self) -> _Node:
        if self.next == "(":
            self._take()
            inner = self.ternary()
            self._take(")")
            return inner
        token = self._take()
        if token[:1].isdigit() or token[:1] == ".":
            number = float(token)
            return lambda _names: number
        if not (token[:1].isalpha() or token[:1] == "_") or token in {"and", "or"}:
            raise _refused(self._text, f"{token or 'its end'!r} is unexpected")
        return self._call(token) if self.next == "(" else self._name(token)

    def _name(self, name: str) -> _Node:
        self.names.add(name)
        constant = _CONSTANTS.get(name)
        return lambda names: names[name] if constant is None or name in names else constant

    def _call(self, name: str) -> _Node:
        if name not in FUNCTIONS:
            raise _refused(
                self._text,
                f"there is no function {name!r}; {known_names(name, FUNCTIONS, are='known are').removesuffix('.')}",
            )
        act, fewest, most = FUNCTIONS[name]
        self._take("(")
        given = [self.ternary()]
        while self.next == ",":
            self._take()
            given.append(self.ternary())
        self._take(")")
        if not fewest <= len(given) <= most:
            raise _refused(self._text, f"{name} takes {fewest} to {most} numbers, not {len(given)}")
        return lambda names: float(act(*(argument(names) for argument in given)))

    def _take(self, wanted: str = "") -> str:
        token = self.next
        if wanted and token != wanted:
            raise _refused(self._text, f"{wanted!r} is missing before {token or 'its end'!r}")
        self._at += 1
        return token

    def _split(self) -> list[str]:
        parts: list[str] = []
        position = 0
        while self._text[position:].strip():
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise _refused(self._text, f"{self._text[position:].strip()[:10]!r} is not supported")
            parts.append(match[0].strip())
            position = match.end()
        return parts


def _applied(act: Callable[[float, float], float], left: _Node, right: _Node) -> _Node:
    return lambda names: float(act(left(names), right(names)))
