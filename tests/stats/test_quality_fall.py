"""A fall of a pass rate is seen soon, whatever the level, and quiet fleets raise hardly an alarm."""

from __future__ import annotations

import numpy as np
import pytest

from minions_evals_mcp.stats.series.quality_fall import WATCHED_FROM, quality_fall
from tests.shared.quality_falls import BEFORE, oracle_traces, quiet_alarms, traces_to_alarm, verdicts


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_twenty_quiet_fleets_raise_at_most_one_alarm(level: float) -> None:
    assert quiet_alarms(np.random.default_rng(8), level, 20) <= 1


@pytest.mark.parametrize("level", [0.9, 0.8])
def test_a_fall_of_ten_points_is_seen_nearly_as_soon_as_by_who_knows_both_levels(level: float) -> None:
    drawn = np.random.default_rng(21)
    assert traces_to_alarm(drawn, level, 0.1, 41) <= 1.6 * oracle_traces(drawn, level, 0.1)


def test_an_alarm_says_when_the_fall_began_and_how_far_it_went() -> None:
    seen = quality_fall(verdicts(np.random.default_rng(3), (BEFORE, 0.9), (600, 0.6)))
    assert seen is not None
    assert abs(seen.began_at - BEFORE) < 40
    assert (round(seen.before, 1), seen.after < 0.75) == (0.9, True)


def test_too_few_verdicts_and_rising_ones_raise_none() -> None:
    drawn = np.random.default_rng(4)
    assert quality_fall([]) is None
    assert quality_fall([True] * (WATCHED_FROM // 2) + [False] * (WATCHED_FROM // 2)) is None
    assert quality_fall(verdicts(drawn, (BEFORE, 0.6), (1000, 0.9))) is None
    assert quality_fall([False] * BEFORE) is None
    assert quality_fall([True] * BEFORE) is None
