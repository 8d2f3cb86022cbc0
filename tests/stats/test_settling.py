"""What would settle an open comparison, against the formula and against statsmodels' power."""

from __future__ import annotations

import importlib
import math
from dataclasses import replace
from typing import Any

import pytest

from minions_evals_mcp.stats.case_pairs import CasePair, score_differences
from minions_evals_mcp.stats.settling import (
    Spread,
    cases_to_rule_out,
    cases_to_show,
    spread_of,
    trials_to_show,
    what_would_settle,
)

SEEN = Spread(delta=0.1, cases=20, changed=20, trials=3, total=0.12, noise=0.09)
WIDE = (-0.05, 0.25)


def test_the_cases_that_show_a_difference_are_statsmodels() -> None:
    power: Any = importlib.import_module("statsmodels.stats.power")
    theirs = power.NormalIndPower(ddof=0).solve_power(
        effect_size=0.1 / math.sqrt(0.12), alpha=0.05, power=0.8, ratio=0, alternative="two-sided"
    )
    assert cases_to_show(SEEN) == pytest.approx(float(theirs), rel=1e-4)  # theirs counts the other tail's 1e-6 as power


def test_rare_changes_need_so_many_cases_that_six_of_them_change() -> None:
    rare = replace(SEEN, delta=1.0, changed=1, total=0.01)
    assert cases_to_show(rare) == 120


def test_more_trials_do_where_the_trials_vary_more_than_the_cases() -> None:
    noisy = replace(SEEN, delta=0.15)
    trials = trials_to_show(noisy)
    assert 3 < trials < 12
    with_them = replace(noisy, total=0.03 + 0.09 * 3 / trials)
    assert cases_to_show(with_them) == pytest.approx(20)


@pytest.mark.parametrize("noise", [None, 0.0])
def test_nobody_knows_what_trials_would_do_where_none_was_repeated_or_none_varied(noise: float | None) -> None:
    assert trials_to_show(replace(SEEN, noise=noise)) == math.inf
    assert what_would_settle(replace(SEEN, noise=noise), WIDE, margin=0.05) == "about 75 more cases"


def test_no_number_of_trials_does_where_the_cases_alone_vary_too_much() -> None:
    assert trials_to_show(replace(SEEN, total=1.0)) == math.inf


def test_trials_are_offered_beside_cases_where_they_would_do() -> None:
    noisy = replace(SEEN, total=0.031, noise=0.03, delta=0.08)
    assert what_would_settle(noisy, WIDE, margin=0.05) == "about 19 more cases, or 3 more trials each"


def test_a_difference_near_zero_is_ruled_out_rather_than_shown() -> None:
    small = replace(SEEN, delta=0.01, total=0.02)
    assert cases_to_rule_out(small, 0.05) < cases_to_show(small)
    assert (
        what_would_settle(small, WIDE, margin=0.05)
        == "about 120 more cases, to show that the difference is within 0.05"
    )


def test_no_difference_at_all_is_within_what_the_interval_says() -> None:
    none = replace(SEEN, delta=0.0)
    said = what_would_settle(none, (-0.15, 0.15), margin=0.05)
    assert said.startswith("no number of cases like those seen would show a difference: it is within 0.15; about ")
    assert what_would_settle(none, (-0.15, 0.15), margin=0.001).endswith("within 0.15")


def test_a_difference_beyond_the_margin_cannot_be_ruled_out() -> None:
    assert cases_to_rule_out(SEEN, 0.05) == math.inf


def test_one_more_case_is_the_least_that_is_asked_for() -> None:
    nearly = replace(SEEN, delta=0.5)
    assert what_would_settle(nearly, WIDE, margin=0.05).startswith("about 1 more case")


def test_the_spread_of_weighted_cases_is_that_of_their_parts_of_the_difference() -> None:
    pairs = [
        CasePair("1", (0.2, 0.4), (0.6, 0.8), (False, False), (True, True), weight=3.0),
        CasePair("2", (0.5,), (0.4, 0.2), (True,), (False, False)),
        CasePair("3", (0.1, 0.3, 0.2), (0.2, 0.2), (False,) * 3, (False,) * 2),
    ]
    spread = spread_of(pairs, score_differences(pairs))
    shares, differences = (1.8, 0.6, 0.6), (0.4, -0.2, 0.0)
    delta = (3 * 0.4 - 0.2) / 5
    rests = [share * (d - delta) for share, d in zip(shares, differences, strict=True)]
    assert (spread.delta, spread.cases, spread.changed, spread.trials) == (pytest.approx(delta), 3, 2, 1)
    assert spread.total == pytest.approx(sum(rest**2 for rest in rests) / 2)
    assert spread.noise == pytest.approx((1.8**2 * (0.02 / 2 + 0.02 / 2) + 0.6**2 * (0.01 / 3)) / 2)
