"""The numbers that a material gives: those that stand in it, their roundings, and what two of them make."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import combinations, islice

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.failures.quantities import PERCENT, PLAIN, Quantity

MOST_KEPT = 50_000
"""Beyond so many numbers a material gives nearly every number: nothing is told from them."""
MOST_COMBINED = 24
"""Beyond so many distinct numbers their sums and products cover too much to mean anything."""
NEAR = 0.05
"""How far "about" may be off, as a share of the number."""


@frozen_type
class Ledger:
    """The numbers of a material, by what they count. `full` is False where there were too many to tell."""

    raw: dict[str, frozenset[float]]
    scaled: dict[str, frozenset[float]]
    counts: dict[str, frozenset[float]]
    ordered: tuple[float, ...]
    made: dict[str, tuple[float, ...]]
    full: bool

    def gives(self, quantity: Quantity) -> bool:
        """Returns whether the number can be had from the material; True as well where nobody can tell."""
        return not self.full or self.states(quantity) or self._rounds_to(quantity) or self.derives(quantity)

    def states(self, quantity: Quantity) -> bool:
        """Returns whether the number itself stands there, in any spelling, of the same kind or of none."""
        if any(_key(value * quantity.factor) in self.scaled.get(quantity.kind, ()) for value in quantity.values):
            return True
        kinds = self.raw if quantity.kind == PLAIN else (PLAIN,)
        bare = {_key(value) for value in quantity.values}
        if any(not bare.isdisjoint(self.raw.get(kind, frozenset())) for kind in kinds):
            return True
        shares = {_key(value / 100) for value in quantity.values} if quantity.kind == PERCENT else set[float]()
        return not shares.isdisjoint(self.raw.get(PLAIN, frozenset()))

    def derives(self, quantity: Quantity) -> bool:
        """Returns whether two of the material's numbers, or all of one kind, make the number."""
        slack = 0.5 * 10**-quantity.decimals if quantity.decimals else 1e-6
        for value in quantity.values:
            if _near(self.made.get(quantity.kind, ()), value * quantity.factor, slack):
                return True
            others = self.made if quantity.kind == PLAIN else (PLAIN,)
            if any(_near(self.made.get(kind, ()), value, slack) for kind in others):
                return True
        return False

    def counts_otherwise(self, quantity: Quantity) -> bool:
        """Returns whether the material counts the same noun, and never gives this number of it."""
        known = self.counts.get(quantity.counted, frozenset())
        return bool(known) and quantity.values[0] > 1 and quantity.values[0] not in known and not self.derives(quantity)

    def _rounds_to(self, quantity: Quantity) -> bool:
        value = quantity.values[0]
        slack = NEAR * value if quantity.about else 0.5 * 10.0**-quantity.decimals
        if not quantity.about:
            return any(not number.is_integer() for number in _between(self.ordered, value - slack, value + slack))
        return any(True for _ in _between(self.ordered, value - slack, value + slack))


def ledger(quantities: Iterable[Quantity], minutes: Iterable[int] = ()) -> Ledger:
    """The ledger of these numbers; the spans between clock times (`minutes` of the day) count as derived."""
    first_quantities = list(islice(quantities, MOST_KEPT + 1))
    raw: dict[str, set[float]] = {}
    scaled: dict[str, set[float]] = {}
    counts: dict[str, set[float]] = {}
    for quantity in first_quantities:
        raw.setdefault(quantity.kind, set()).update(map(_key, quantity.values))
        scaled.setdefault(quantity.kind, set()).update(_key(value * quantity.factor) for value in quantity.values)
        if quantity.counted:
            counts.setdefault(quantity.counted, set()).update(quantity.values)
    made: dict[str, set[float]] = {}
    for kind, value in (*_combined(first_quantities), *_spans(minutes)):
        made.setdefault(kind, set()).add(value)
    return Ledger(
        raw=_frozen(raw),
        scaled=_frozen(scaled),
        counts=_frozen(counts),
        ordered=tuple(sorted(set[float]().union(*raw.values()))),
        made={kind: tuple(sorted(values)) for kind, values in made.items()},
        full=len(first_quantities) <= MOST_KEPT,
    )


def _frozen(sets: dict[str, set[float]]) -> dict[str, frozenset[float]]:
    return {name: frozenset(values) for name, values in sets.items()}


def _combined(quantities: list[Quantity]) -> Iterator[tuple[str, float]]:
    """Sum, difference and product of any two numbers that go together, and the total of each kind."""
    distinct = list({(quantity.kind, quantity.values[0], quantity.factor): None for quantity in quantities})
    if len(distinct) > MOST_COMBINED:
        return
    for first, other in combinations(distinct, 2):
        yield from _pair(first, other)
    for kind in {kind for kind, _, _ in distinct}:
        yield kind, sum(q.values[0] * q.factor for q in quantities if q.kind == kind)


def _pair(pair: tuple[str, float, float], other: tuple[str, float, float]) -> Iterator[tuple[str, float]]:
    (kind, a, factor), (other_kind, b, other_factor) = pair, other
    if PERCENT in (kind, other_kind) and kind != other_kind:
        share, of, of_kind = (a, b * other_factor, other_kind) if kind == PERCENT else (b, a * factor, kind)
        for part in (share / 100, 1 - share / 100, 1 + share / 100):
            yield of_kind, part * of
        return
    if kind == other_kind:
        a, b = a * factor, b * other_factor
    elif PLAIN not in (kind, other_kind):
        return
    named = other_kind if kind == PLAIN else kind
    for value in (a + b, abs(a - b), a * b):
        yield named, value


def _spans(minutes: Iterable[int]) -> Iterator[tuple[str, float]]:
    moments = sorted(set(islice(minutes, MOST_COMBINED)))
    for early, late in combinations(moments, 2):
        yield "time", float(late - early)


def _key(value: float) -> float:
    """The number to nine significant digits, so that 0.1 + 0.2 is 0.3."""
    return float(f"{value:.9g}")


def _near(ordered: tuple[float, ...], value: float, slack: float) -> bool:
    return any(True for _ in _between(ordered, value - slack, value + slack))


def _between(ordered: tuple[float, ...], low: float, high: float) -> Iterator[float]:
    for place in range(bisect_left(ordered, low), len(ordered)):
        if ordered[place] > high:
            return
        yield ordered[place]
