"""The regularity of an order of scores, and how often chance is as regular.

Mann-Kendall's S (Mann 1945, Econometrica 13:245; Kendall 1975, Rank Correlation Methods) against its exact permutation
distribution, and the slope of Theil and Sen (Sen 1968, JASA 63:1379).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product, zip_longest
from statistics import median

SIGNIFICANT = 0.05


def mann_kendall(scores: Sequence[float]) -> int:
    """Rises minus falls over all pairs of a series, oldest first; a tie is neither."""
    return sum((new > old) - (new < old) for old, new in combinations(scores, 2))


def theil_sen(scores: Sequence[float]) -> float:
    """The median slope over all pairs of at least two scores that are one run apart each."""
    numbered = combinations(enumerate(scores), 2)
    return median((new - old) / (later - earlier) for (earlier, old), (later, new) in numbered)


def slope_interval(scores: Sequence[float], *, level: float = 0.95) -> tuple[float, float] | None:
    """Between which of the pairwise slopes the true one lies, at least `level` of the time; None where n is too small.

    The slopes are cut off by rank where Kendall's S would reject them (Sen 1968, section 6; exact, no ties): five scores
    give all of their range (.983), four give nothing at 95 %.
    """
    slopes = sorted(
        (new - old) / (later - earlier) for (earlier, old), (later, new) in combinations(enumerate(scores), 2)
    )
    tail = (1 - level) / 2
    rejected = next(
        (s for s in range(len(slopes) % 2, len(slopes) + 1, 2) if order_chance(range(len(scores)), s) <= tail), None
    )
    if rejected is None:
        return None
    cut = (len(slopes) - rejected) // 2
    return slopes[cut], slopes[len(slopes) - 1 - cut]


def order_chance(scores: Sequence[float], s: int) -> float:
    """The share of all orders of these scores whose S is at least `s` (0 or more), ties and all."""
    groups = tuple(sorted(Counter(scores).values()))
    orders = _orders_by_inversions(groups)
    untied_pairs = len(orders) - 1
    return sum(orders[: max(0, (untied_pairs - s) // 2 + 1)]) / sum(orders)


@cache
def smallest_significant_s(n: int) -> int:
    """The smallest S that at most 5 % of the orders of n scores reach; the largest S where none is so rare."""
    largest = n * (n - 1) // 2
    rare = (s for s in range(largest % 2, largest, 2) if order_chance(range(n), s) <= SIGNIFICANT)
    return next(rare, largest)


@cache
def _orders_by_inversions(groups: tuple[int, ...]) -> tuple[int, ...]:
    """Returns how many orders of groups of equal things have 0, 1, 2 ... pairs the wrong way round.

    The coefficients of the q-multinomial (Stanley, Enumerative Combinatorics 1, section 1.7), one group after another.
    """
    *others, last = groups
    if not others:
        return (1,)
    before, added = _orders_by_inversions(tuple(others)), _ways_to_insert(sum(others), last)
    orders = [0] * (len(before) + len(added) - 1)
    for (i, ways), (j, more) in product(enumerate(before), enumerate(added)):
        orders[i + j] += ways * more
    return tuple(orders)


@cache
def _ways_to_insert(into: int, equal: int) -> tuple[int, ...]:
    """By inversions, the ways to put `equal` equal things among `into` smaller ones: the last thing is either kind."""
    if into == 0 or equal == 0:
        return (1,)
    ends_large = _ways_to_insert(into, equal - 1)
    ends_small = (0,) * equal + _ways_to_insert(into - 1, equal)
    return tuple(sum(pair) for pair in zip_longest(ends_large, ends_small, fillvalue=0))
