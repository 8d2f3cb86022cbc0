"""Which pairs of values of the declared dimensions cases cover, and the fewest traces that would cover the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

from minions_evals_mcp.frozen_types import frozen_type

Pair = tuple[tuple[str, str], ...]
"""Values of one or two dimensions, each with its name."""
MOST_VALUES = 50


@frozen_type
class Dimension:
    """A property in which traces differ. `values` are those that it is declared to have; without them those count that traces show."""

    name: str
    values: tuple[str, ...] = ()


@frozen_type
class Coverage:
    """How many pairs are wanted and the cases cover, the pairs that are missing, and traces that would cover them.

    `unseen` are declared values that no trace shows, `uncoverable` counts the missing pairs that no trace shows.
    """

    pairs: int
    covered: int
    missing: tuple[Pair, ...]
    by_traces: tuple[str, ...]
    unseen: tuple[tuple[str, str], ...] = ()
    uncoverable: int = 0


def dimension(text: str) -> Dimension:
    """The dimension of `NAME` or `NAME=VALUE,VALUE`; raises `ValueError`."""
    name, declares, listed = (part.strip() for part in text.partition("="))
    values = tuple(dict.fromkeys(value.strip() for value in listed.split(","))) if declares else ()
    if not name:
        raise ValueError(f"{text!r} names no dimension")
    if not all(values):
        raise ValueError(f"{text!r} has an empty value")
    if len(values) > MOST_VALUES:
        raise ValueError(f"{name} declares {len(values)} values, at most {MOST_VALUES} are allowed")
    return Dimension(name, values)


def coverage(
    traces: Mapping[str, Mapping[str, str]], cases: Sequence[Mapping[str, str]], dimensions: Sequence[Dimension]
) -> Coverage:
    """The coverage of every two dimensions (of one, where there is one), over the values that traces show or that are declared.

    A declared value is wanted beside each value of the other dimension, and by itself where that one has none. The traces are a
    covering array by the greedy rule: each next one covers the most pairs that are left.
    """
    values = {one.name: {_value(labels, one) for labels in traces.values()} - {""} for one in dimensions}
    known = [one for one in dimensions if one.values or values[one.name]]
    strength = min(2, len(known))
    shown = {ident: _pairs(labels, known, strength) for ident, labels in traces.items()}
    seen = frozenset[Pair]().union(*shown.values())
    wanted = seen.union(_declared(known, values, strength))
    covered = frozenset[Pair]().union(*(_pairs(labels, known, strength) for labels in cases)) & wanted
    missing = wanted - covered
    left, chosen = set(missing & seen), list[str]()
    while left:
        best = max(shown, key=lambda ident: (len(shown[ident] & left), [-ord(character) for character in ident]))
        chosen.append(best)
        left -= shown[best]
    unseen = tuple((one.name, value) for one in dimensions for value in one.values if value not in values[one.name])
    return Coverage(
        len(wanted), len(covered), tuple(sorted(missing)), tuple(chosen), unseen, uncoverable=len(missing - seen)
    )


def _declared(dimensions: Sequence[Dimension], values: Mapping[str, set[str]], strength: int) -> Iterator[Pair]:
    """The pairs that are wanted because values of theirs are declared, whatever the traces show."""
    whole = {one.name: sorted(values[one.name].union(one.values)) for one in dimensions}
    for some in combinations(dimensions, strength):
        for pair in product(*([(one.name, value) for value in whole[one.name]] for one in some)):
            if any(value in one.values for one, (_, value) in zip(some, pair, strict=True)):
                yield pair


def _pairs(labels: Mapping[str, str], dimensions: Sequence[Dimension], strength: int) -> frozenset[Pair]:
    known = [(one.name, value) for one in dimensions if (value := _value(labels, one))]
    return frozenset(combinations(known, strength)) if strength else frozenset()


def _value(labels: Mapping[str, str], one: Dimension) -> str:
    """The value of the labels, as it is declared where case alone differs."""
    value = labels.get(one.name, "")
    return next((declared for declared in one.values if declared.casefold() == value.casefold()), value)
