"""Which pairs of values of the declared dimensions cases cover, and the fewest traces that would cover the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from minions_evals_mcp.frozen_types import frozen_type

Pair = tuple[tuple[str, str], ...]
"""Values of one or two dimensions, each with its name."""


@frozen_type
class Coverage:
    """How many pairs the traces show and the cases cover, the pairs that are missing, and traces that would cover them."""

    pairs: int
    covered: int
    missing: tuple[Pair, ...]
    by_traces: tuple[str, ...]


def coverage(
    traces: Mapping[str, Mapping[str, str]], cases: Sequence[Mapping[str, str]], dimensions: Sequence[str]
) -> Coverage:
    """The coverage of every two dimensions (of one, where there is one), over the values that traces have.

    The traces are a covering array by the greedy rule: each next one covers the most pairs that are left.
    """
    strength = min(2, len(dimensions))
    shown = {ident: _pairs(labels, dimensions, strength) for ident, labels in traces.items()}
    wanted = frozenset[Pair]().union(*shown.values())
    covered = frozenset[Pair]().union(*(_pairs(labels, dimensions, strength) for labels in cases)) & wanted
    missing = wanted - covered
    left, chosen = set(missing), list[str]()
    while left:
        best = max(shown, key=lambda ident: (len(shown[ident] & left), [-ord(character) for character in ident]))
        chosen.append(best)
        left -= shown[best]
    return Coverage(len(wanted), len(covered), tuple(sorted(missing)), tuple(chosen))


def _pairs(labels: Mapping[str, str], dimensions: Sequence[str], strength: int) -> frozenset[Pair]:
    known = [(name, labels[name]) for name in dimensions if labels.get(name)]
    return frozenset(combinations(known, strength)) if strength else frozenset()
