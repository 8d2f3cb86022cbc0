"""Likeness of two texts in meaning: the cosine of their vectors, and where it must not be trusted."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from operator import mul

from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.scoring.failures.dates import WEEKDAYS, Mention, take_clocks, take_dates
from minions_evals_mcp.scoring.failures.quantities import Quantity, quantities

READ_AT_MOST = 20_000
"""So many characters of a text are read for numbers, dates and negation."""
_NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|cannot|without|\w+n['’]t)\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(WEEKDAYS)})\b", re.IGNORECASE)


def normalised(text: str) -> str:
    """The text as it is embedded: composed (Unicode NFC), in one case, single spaces, no final full stop."""
    folded = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return folded.removesuffix(".").removesuffix("。").rstrip() or folded


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, clipped to 0–1; 0 where one of them has no direction."""
    if not a or not b:
        return 0.0
    lengths = math.sqrt(math.fsum(map(mul, a, a))) * math.sqrt(math.fsum(map(mul, b, b)))
    if lengths == 0:
        return 0.0
    return min(1.0, max(0.0, math.fsum(map(mul, a, b)) / lengths))


def unit(vector: Sequence[float]) -> Sequence[float]:
    """The vector at length 1; one without a direction stays."""
    length = math.hypot(*vector)
    return [part / length for part in vector] if length else vector


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """The dot product of two vectors, as it is; 0 where one of them has no direction."""
    return math.fsum(map(mul, a, b)) if a and b else 0.0


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    """The straight way between the ends of two vectors; one without a direction ends where all begin."""
    return math.dist(a or [0.0] * len(b), b or [0.0] * len(a))


def disagreements(expected: str, actual: str) -> tuple[str, ...]:
    """Returns what embeddings are blind to and the two texts differ in: numbers, dates and times, negation; as warnings."""
    expected, actual = expected[:READ_AT_MOST], actual[:READ_AT_MOST]
    return tuple(_differing_facts(expected, actual)) + tuple(_differing_negation(expected, actual))


def _differing_facts(expected: str, actual: str) -> Iterator[str]:
    first, other = _facts(expected), _facts(actual)
    for name, wanted, facts_told in zip(("numbers", "dates", "times", "weekdays"), first, other, strict=True):
        lacking = _not_among(wanted, facts_told)
        added = _not_among(facts_told, wanted)
        if lacking or added:
            yield f"the {name} differ: {first_named(lacking, 3) or 'none'} expected, {first_named(added, 3) or 'none'} found"


Fact = tuple[str, frozenset[object]]
"""Something that is either the same or not: as it is written, and what it can mean."""


def _not_among(facts: Sequence[Fact], others: Sequence[Fact]) -> list[str]:
    known = frozenset[object]().union(*(values for _, values in others))
    return [shown for shown, values in facts if not values & known]


def _facts(text: str) -> tuple[list[Fact], list[Fact], list[Fact], list[Fact]]:
    """The text's numbers, dates, times of day and weekdays; no digit counts twice."""
    dates, rest = take_dates(text)
    clocks, rest = take_clocks(rest)
    weekdays: list[Fact] = [(match[0], frozenset({match[0].lower()})) for match in _WEEKDAY.finditer(text)]
    return (
        [_number(quantity) for quantity in quantities(rest)],
        [_day(date) for date in dates],
        [_time(clock) for clock in clocks],
        weekdays,
    )


def _number(quantity: Quantity) -> Fact:
    return quantity.shown, frozenset((quantity.kind, round(value * quantity.factor, 9)) for value in quantity.values)


def _day(mention: Mention) -> Fact:
    return mention.shown, frozenset((day.year, day.month, day.day) for day in mention.days)


def _time(mention: Mention) -> Fact:
    return mention.shown, frozenset(mention.minutes)


def _differing_negation(expected: str, actual: str) -> Iterator[str]:
    wanted, match = _NEGATION.search(expected), _NEGATION.search(actual)
    if wanted and not match:
        yield f"only the expected output negates: {wanted[0]!r}"
    elif match and not wanted:
        yield f"only the output negates: {match[0]!r}"
