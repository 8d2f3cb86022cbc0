"""A quick variant of `python -m tests.bench.figures.calibration`: the same simulations, few of each."""

from __future__ import annotations

import pytest

from tests.bench.figures.calibration import peeking, tally, trends
from tests.bench.figures.simulated import Kind, Population

PAIRS = 150
SLACK = 0.04
"""More than two standard errors of 150 pairs, on top of the limit that 10,000 keep."""


@pytest.mark.parametrize("kind", ["binary", "graded"])
@pytest.mark.parametrize(("cases", "trials"), [(10, 5), (20, 1)])
def test_without_a_difference_a_verdict_is_rare_and_the_interval_holds_zero(
    cases: int, trials: int, kind: Kind
) -> None:
    seen = tally(PAIRS, Population(kind, cases, trials))
    assert seen.decided <= 0.05 + SLACK
    assert seen.covered >= 0.93 - SLACK


def test_a_real_difference_is_found_about_as_often_as_theory_says() -> None:
    population = Population("binary", 20, 1, 0.7)
    seen = tally(PAIRS, population)
    assert abs(seen.improved - population.power()) <= 3 * SLACK
    assert seen.covered >= 0.93 - SLACK
    assert seen.regressed == 0


def test_strongly_skewed_differences_are_covered_less_and_mostly_told() -> None:
    seen = tally(PAIRS, Population("skewed", 20, 1))
    assert seen.covered >= 0.88 - SLACK
    assert seen.warned > 0.7


def test_a_broken_limit_is_marked_in_the_report() -> None:
    assert peeking(100, 30, 1.0, 0.5).broken is False
    assert peeking(100, 200, 1.0, 1.0).text.endswith("95% of the cases saved")
    assert trends(10, "step -0.2 at 25").broken is False
