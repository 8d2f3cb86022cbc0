"""Agreement of two raters against statsmodels."""

from __future__ import annotations

import importlib
import math
import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.stats.agreement import agreement
from minions_evals_mcp.stats.intervals import wilson

TABLES = [
    [[20, 5], [10, 15]],
    [[9, 3, 1], [2, 14, 4], [0, 3, 11]],
    [[1, 2, 0, 0], [0, 3, 1, 0], [0, 2, 5, 1], [0, 0, 0, 4]],
]


def ratings(table: list[list[int]]) -> tuple[list[float], list[float]]:
    cells = product(range(len(table)), repeat=2)
    pairs = [(float(i), float(j)) for i, j in cells for _ in range(table[i][j])]
    return [i for i, _ in pairs], [j for _, j in pairs]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("weighting", "theirs"), [("none", None), ("quadratic", "quadratic")])
def test_kappa_is_statsmodels_and_lies_in_its_interval(
    table: list[list[int]], weighting: Any, theirs: str | None
) -> None:
    inter_rater: Any = importlib.import_module("statsmodels.stats.inter_rater")
    expected = inter_rater.cohens_kappa(table, wt=theirs)
    found = agreement(*ratings(table), weighting=weighting)
    assert found.kappa == pytest.approx(float(expected.kappa), abs=1e-9)
    low, high = found.kappa_interval
    assert low < expected.kappa < high <= 1
    assert high - low > expected.kappa_upp - expected.kappa_low - 0.02, "never narrower than for large samples"


@pytest.mark.parametrize("weighting", ["none", "quadratic"])
def test_with_many_ratings_the_interval_is_that_for_large_samples(weighting: Any) -> None:
    inter_rater: Any = importlib.import_module("statsmodels.stats.inter_rater")
    table = [[900, 300, 100], [200, 1400, 400], [0, 300, 1100]]
    expected = inter_rater.cohens_kappa(table, wt=None if weighting == "none" else weighting)
    found = agreement(*ratings(table), weighting=weighting)
    assert found.kappa_interval == pytest.approx((expected.kappa_low, expected.kappa_upp), abs=2e-3)


def test_raw_agreement_has_wilsons_interval() -> None:
    found = agreement(*ratings(TABLES[0]))
    assert (found.ratings, found.outputs, found.agreed, found.agreed_interval) == (50, 50, 0.7, wilson(35, 50))


def test_a_distance_on_the_scale_counts_by_its_square_whatever_the_unit() -> None:
    first, second = [1.0, 2.0, 5.0, 5.0, 1.0], [1.0, 5.0, 5.0, 2.0, 2.0]
    tenfold = agreement([10 * x for x in first], [10 * x for x in second], weighting="quadratic")
    assert tenfold.kappa == pytest.approx(agreement(first, second, weighting="quadratic").kappa)
    assert agreement(first, second).kappa != pytest.approx(tenfold.kappa)


def test_raters_who_only_know_one_rating_agree_without_a_kappa() -> None:
    found = agreement([1.0] * 8, [1.0] * 8)
    assert (found.agreed, found.kappa) == (1, None)
    assert found.kappa_interval[0] < 0, "eight equal ratings say nothing about raters who never differ"


def test_five_equal_pairs_are_not_certainty() -> None:
    found = agreement([0.0, 1.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0, 1.0])
    assert found.kappa == 1
    assert found.kappa_interval[0] < 0.6
    assert found.kappa_interval[1] == 1


def test_ratings_of_one_output_by_ten_criteria_count_as_alike_as_they_are() -> None:
    truth, said = [1.0, 0.0, 1.0, 0.0] * 10, [1.0, 0.0, 0.0, 0.0] * 10
    each = agreement(truth, said, weighting="quadratic")
    about = [number // 10 for number in range(40)]
    first = [rating for rating in (1.0, 0.0, 1.0, 0.0) for _ in range(10)]
    second = [rating for rating in (1.0, 0.0, 0.0, 0.0) for _ in range(10)]
    together = agreement(first, second, outputs=about, weighting="quadratic")
    assert (each.outputs, together.outputs, together.kappa) == (40, 4, each.kappa)
    assert together.kappa_interval[0] < each.kappa_interval[0] - 0.3
    assert together.agreed_interval[0] < each.agreed_interval[0]


def test_all_ratings_of_a_single_output_say_next_to_nothing() -> None:
    found = agreement([1.0, 2.0, 3.0, 1.0], [1.0, 2.0, 3.0, 2.0], outputs=["a"] * 4, weighting="quadratic")
    assert found.kappa_interval == (-1, 1)


def test_one_rater_who_never_varies_is_no_better_than_chance() -> None:
    assert agreement([1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]).kappa == 0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_neither_who_rated_first_nor_the_order_matters(pairs: list[tuple[int, int]], order: random.Random) -> None:
    one = agreement([float(a) for a, _ in pairs], [float(b) for _, b in pairs], weighting="quadratic")
    order.shuffle(pairs)
    other = agreement([float(b) for _, b in pairs], [float(a) for a, _ in pairs], weighting="quadratic")
    assert (one.agreed, one.agreed_interval) == (other.agreed, other.agreed_interval)
    assert one.kappa == pytest.approx(other.kappa)
    if one.kappa is not None:
        assert one.kappa_interval[0] <= one.kappa <= one.kappa_interval[1]


def test_ratings_of_different_outputs_and_no_ratings_are_refused() -> None:
    for first, second in (([1.0], [1.0, 2.0]), ([], [])):
        with pytest.raises(ValueError, match="not those of the same outputs"):
            agreement(first, second)


def test_a_rating_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        agreement([1.0, math.nan], [1.0, 2.0])
