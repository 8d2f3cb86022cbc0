"""Agreement of two raters against statsmodels."""

from __future__ import annotations

import importlib
import math
import random
from itertools import product
from typing import Any

import pytest
from hypothesis import given
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
def test_kappa_and_its_interval_are_statsmodels(table: list[list[int]], weighting: Any, theirs: str | None) -> None:
    inter_rater: Any = importlib.import_module("statsmodels.stats.inter_rater")
    expected = inter_rater.cohens_kappa(table, wt=theirs)
    found = agreement(*ratings(table), weighting=weighting)
    assert found.kappa == pytest.approx(float(expected.kappa), abs=1e-9)
    assert found.kappa_interval == pytest.approx(
        (float(expected.kappa_low), min(1.0, float(expected.kappa_upp))), abs=1e-6
    )
    half = 1.959963984540054 * float(expected.std_kappa)
    assert found.kappa_interval == pytest.approx((expected.kappa - half, min(1.0, expected.kappa + half)), abs=1e-9)


def test_raw_agreement_has_wilsons_interval() -> None:
    found = agreement(*ratings(TABLES[0]))
    assert (found.outputs, found.agreed, found.agreed_interval) == (50, 0.7, wilson(35, 50))


def test_a_distance_on_the_scale_counts_by_its_square_whatever_the_unit() -> None:
    first, second = [1.0, 2.0, 5.0, 5.0, 1.0], [1.0, 5.0, 5.0, 2.0, 2.0]
    tenfold = agreement([10 * x for x in first], [10 * x for x in second], weighting="quadratic")
    assert tenfold.kappa == pytest.approx(agreement(first, second, weighting="quadratic").kappa)
    assert agreement(first, second).kappa != pytest.approx(tenfold.kappa)


def test_raters_who_only_know_one_rating_agree_without_a_kappa() -> None:
    found = agreement([1.0] * 8, [1.0] * 8)
    assert (found.agreed, found.kappa, found.kappa_interval) == (1, None, None)


def test_full_agreement_is_a_kappa_of_one_without_error() -> None:
    found = agreement([0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0])
    assert (found.kappa, found.kappa_interval) == (1, (1, 1))


def test_one_rater_who_never_varies_is_no_better_than_chance() -> None:
    assert agreement([1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]).kappa == 0


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
    if one.kappa is not None and one.kappa_interval is not None:
        assert one.kappa_interval[0] <= one.kappa <= one.kappa_interval[1]


def test_ratings_of_different_outputs_and_no_ratings_are_refused() -> None:
    for first, second in (([1.0], [1.0, 2.0]), ([], [])):
        with pytest.raises(ValueError, match="not those of the same outputs"):
            agreement(first, second)


def test_a_rating_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        agreement([1.0, math.nan], [1.0, 2.0])
