"""A weekly season is taken off where weekdays differ, and levels survive it, growing noise and waves."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from minions_evals_mcp.stats.series.season import without_season
from tests.bench.verdicts.level_shifts import FLAT, STEPS, measured

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)


def days(count: int) -> list[datetime]:
    return [BEGIN + timedelta(days=day) for day in range(count)]


def test_a_weekday_that_lies_off_the_level_is_brought_back_and_noise_stays_as_it_is() -> None:
    draw = random.Random(1)  # noqa: S311  a simulation
    weekly = [0.8 - 0.1 * (day % 7 >= 5) + draw.gauss(0, 0.01) for day in range(35)]
    freed = without_season(weekly, days(35), [0], newest=0)
    weekend = [score for day, score in enumerate(freed) if day % 7 >= 5]
    week = [score for day, score in enumerate(freed) if day % 7 < 5]
    assert abs(sum(weekend) / len(weekend) - sum(week) / len(week)) < 0.01
    flat = [0.8 + draw.gauss(0, 0.03) for _ in range(35)]
    assert without_season(flat, days(35), [0], newest=8) == flat
    assert without_season(weekly[:10], days(10), [0], newest=0) == weekly[:10], "ten days show no week"


@pytest.fixture(scope="module")
def shares() -> dict[str, float]:
    return measured(24, seed=7)


@pytest.mark.parametrize("history", FLAT)
def test_a_flat_history_is_rarely_told_that_it_fell(shares: dict[str, float], history: str) -> None:
    assert shares[history] <= 0.21, "of 24; the bench measures it with 200"


@pytest.mark.parametrize("step", STEPS)
def test_a_step_is_seen_within_five_runs(shares: dict[str, float], step: str) -> None:
    assert shares[step] >= 0.6
