"""S, its exact distribution and the slope, against scipy and by counting every order."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb, sqrt
from typing import Any

import pytest
from scipy import stats

from minions_evals_mcp.stats.series.mann_kendall import mann_kendall, order_chance, smallest_significant_s, theil_sen

SERIES = [
    (0.9, 0.85, 0.8, 0.7, 0.75),
    (0.1, 0.2, 0.3),
    (0.5, 0.4, 0.45, 0.41, 0.6, 0.2, 0.9, 0.8),
    (0.2, 0.1, 0.4, 0.3, 0.6, 0.5, 0.8, 0.7, 1.0, 0.9, 0.95, 0.85),
]
TIED = [(0.5, 0.5, 0.6, 0.4), (0.1, 0.2, 0.2, 0.2, 0.3, 0.1), (0.7, 0.6, 0.7, 0.6, 0.7)]


@pytest.mark.parametrize("scores", [*SERIES, *TIED])
def test_s_and_the_slope_are_scipys(scores: tuple[float, ...]) -> None:
    pairs = comb(len(scores), 2)
    untied = pairs - sum(old == new for old, new in combinations(scores, 2))
    kendall: Any = stats.kendalltau(range(len(scores)), scores)
    theil: Any = stats.theilslopes(scores)
    assert mann_kendall(scores) == pytest.approx(float(kendall.statistic) * sqrt(pairs * untied), abs=1e-9)
    assert theil_sen(scores) == pytest.approx(float(theil.slope), abs=1e-9)


@pytest.mark.parametrize("scores", SERIES)
def test_without_ties_the_chance_of_an_s_is_scipys_exact_one(scores: tuple[float, ...]) -> None:
    s = mann_kendall(scores)
    side = "greater" if s > 0 else "less"
    theirs: Any = stats.kendalltau(range(len(scores)), scores, method="exact", alternative=side)
    assert order_chance(scores, abs(s)) == pytest.approx(float(theirs.pvalue), abs=1e-9)


@pytest.mark.parametrize(
    "scores", [(1, 2, 3, 4, 5), (1, 1, 2, 3, 4), (1, 1, 2, 2, 2), (1, 1, 1, 1, 1), (1, 1, 2, 3, 3, 3)]
)
def test_with_ties_the_chance_of_an_s_is_what_counting_every_order_gives(scores: tuple[int, ...]) -> None:
    found = [mann_kendall(order) for order in permutations(scores)]
    for s in range(comb(len(scores), 2) + 1):
        assert order_chance(scores, s) == pytest.approx(sum(one >= s for one in found) / len(found), abs=1e-12)


def test_the_sums_that_make_a_direction_are_those_of_the_contract() -> None:
    assert {n: smallest_significant_s(n) for n in (3, 4, 5)} == {3: 3, 4: 6, 5: 8}


@pytest.mark.parametrize("n", range(4, 13))
def test_the_sum_that_makes_a_direction_is_the_smallest_one_rarer_than_five_percent(n: int) -> None:
    needed = smallest_significant_s(n)
    assert order_chance(range(n), needed) <= 0.05
    assert needed == comb(n, 2) or order_chance(range(n), needed - 2) > 0.05


@pytest.mark.parametrize("n", range(4, 9))
def test_ties_never_make_a_direction_more_likely_by_chance(n: int) -> None:
    needed = smallest_significant_s(n)
    for ties in range(2 ** (n - 1)):
        scores = [(ties >> (n - 1 - i)).bit_count() for i in range(n)]
        assert order_chance(scores, needed) <= order_chance(range(n), needed)
