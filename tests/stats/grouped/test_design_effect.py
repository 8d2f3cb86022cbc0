"""The number of independent cases that grouped ones are worth, where groups differ in size, against what chance does."""

from __future__ import annotations

import numpy as np
import pytest

from minions_evals_mcp.stats.comparison import compare
from minions_evals_mcp.stats.intervals import pass_rate_interval
from tests.bench.groups import group_rates, grouped_pairs, passes_of, scores_of, sums_of

DRAWS = 300
SIZES = {"one of 60 %": [24, *[2] * 8], "one beside many": [60, *[2] * 20], "equal": [10] * 10}


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_a_comparison_is_worth_as_many_cases_as_its_differences_vary(sizes: list[int], correlation: float) -> None:
    draws, counts = np.random.default_rng(44), np.array(sizes)
    stated: list[float] = []
    deltas: list[float] = []
    for _ in range(DRAWS):
        a, b = (scores_of(draws, 0.0, correlation, counts) for _ in "ab")
        found = compare(grouped_pairs(a, b, passes=False))
        stated.append(found.effective_cases)
        deltas.append(found.delta)
    scored = np.concatenate([np.concatenate(scores_of(draws, 0.0, correlation, counts)) for _ in range(DRAWS)])
    worth = 2 * float(np.var(scored)) / float(np.var(deltas))
    assert np.median(stated) == pytest.approx(min(worth, sum(sizes)), rel=0.35)


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_a_pass_rate_is_worth_as_many_cases_as_it_varies(sizes: list[int], correlation: float) -> None:
    draws, counts = np.random.default_rng(45), np.array(sizes)
    stated: list[float] = []
    rates: list[float] = []
    for _ in range(DRAWS):
        passed = passes_of(draws, group_rates(draws, 0.7, correlation, len(sizes)), counts)
        found = pass_rate_interval(sums_of(passed))
        assert found is not None
        stated.append(found.effective)
        rates.append(float(np.concatenate(passed).mean()))
    worth = 0.7 * 0.3 / float(np.var(rates))
    assert np.median(stated) == pytest.approx(min(worth, sum(sizes)), rel=0.35)
