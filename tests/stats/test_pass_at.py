"""pass@k and pass^k against counting the ways."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.stats.pass_at import pass_at_k, pass_power_k


@pytest.mark.parametrize("n", range(1, 7))
def test_both_are_what_counting_every_choice_of_k_tries_gives(n: int) -> None:
    for c in range(n + 1):
        tries = [True] * c + [False] * (n - c)
        for k in range(1, n + 1):
            choices = list(combinations(tries, k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices), abs=1e-12)
            assert pass_power_k(n, c, k) == pytest.approx(sum(map(all, choices)) / len(choices), abs=1e-12)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_one_try_is_the_pass_rate_and_more_tries_only_spread_the_two(counts: tuple[int, int, int]) -> None:
    n, c, k = counts
    assert pass_at_k(n, c, 1) == pytest.approx(c / n)
    assert pass_power_k(n, c, 1) == pytest.approx(c / n)
    assert 0 <= pass_power_k(n, c, k) <= c / n + 1e-12
    assert c / n - 1e-12 <= pass_at_k(n, c, k) <= 1


@pytest.mark.parametrize(("n", "c", "k"), [(0, 0, 1), (3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_tries_that_cannot_be_drawn_are_refused(n: int, c: int, k: int) -> None:
    for chance in (pass_at_k, pass_power_k):
        with pytest.raises(ValueError, match="cannot be drawn"):
            chance(n, c, k)
