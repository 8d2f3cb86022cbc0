"""McNemar's exact test against scipy's binomial test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from minions_evals_mcp.stats.paired import evidence, mcnemar_exact


@pytest.mark.parametrize(("b", "c"), [(0, 1), (5, 0), (6, 0), (1, 8), (2, 9), (12, 12), (40, 61), (700, 900)])
def test_the_p_value_is_the_binomial_tests(b: int, c: int) -> None:
    assert mcnemar_exact(b, c) == pytest.approx(float(stats.binomtest(b, b + c).pvalue), rel=1e-9)


def test_nothing_changed_says_nothing() -> None:
    assert mcnemar_exact(0, 0) == 1
    assert evidence(0, 0) == "undecidable"


@given(b=st.integers(0, 80), c=st.integers(0, 80))
def test_the_p_value_is_a_probability_and_does_not_care_which_way(b: int, c: int) -> None:
    assert 0 < mcnemar_exact(b, c) == mcnemar_exact(c, b) <= 1


@pytest.mark.parametrize(
    ("b", "c", "said"),
    [
        (5, 0, "undecidable"),
        (6, 0, "supported"),
        (0, 6, "supported"),
        (6, 1, "within-noise"),
        (8, 1, "supported"),
        (3, 3, "within-noise"),
    ],
)
def test_a_drop_is_supported_from_six_changed_cases_at_five_percent(b: int, c: int, said: str) -> None:
    assert evidence(b, c) == said


def test_fewer_than_six_changed_cases_could_not_have_decided() -> None:
    assert all(mcnemar_exact(b, n - b) > 0.05 for n in range(6) for b in range(n + 1))


@pytest.mark.parametrize(("b", "c"), [(-1, 3), (3, -1)])
def test_negative_counts_are_refused(b: int, c: int) -> None:
    with pytest.raises(ValueError, match="counted from 0"):
        mcnemar_exact(b, c)
