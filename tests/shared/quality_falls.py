"""Simulated fleets and an oracle: a CUSUM that knows both levels, at the same rate of false alarms."""

from __future__ import annotations

import math
from statistics import median

import numpy as np
from numpy.typing import NDArray

from minions_evals_mcp.stats.series.quality_fall import ERROR, HORIZON, quality_fall

DAYS, A_DAY = 60, 50
BEFORE = 2_000
"""Verdicts before a fall: 40 days of them."""


def verdicts(drawn: np.random.Generator, *levels: tuple[int, float]) -> list[bool]:
    """So many verdicts at each level."""
    return [bool(passed) for number, level in levels for passed in drawn.random(number) < level]


def quiet_alarms(drawn: np.random.Generator, level: float, fleets: int) -> int:
    """How many quiet fleets raise an alarm."""
    return sum(quality_fall(verdicts(drawn, (DAYS * A_DAY, level))) is not None for _ in range(fleets))


def traces_to_alarm(drawn: np.random.Generator, level: float, fall: float, times: int) -> float:
    """The median of the traces from a fall until it is seen; an alarm before it counts as a fall that is never seen."""
    return median(_traces_to_alarm(drawn, level, fall) for _ in range(times))


def _traces_to_alarm(drawn: np.random.Generator, level: float, fall: float) -> float:
    seen = quality_fall(verdicts(drawn, (BEFORE, level), (1_000, level - fall)))
    return math.inf if seen is None or seen.seen_at <= BEFORE else seen.seen_at - BEFORE


def oracle_traces(drawn: np.random.Generator, level: float, fall: float, times: int = 400) -> float:
    """The same median of the CUSUM that knows both levels; it raises a false alarm within the horizon as seldom."""
    gains = (math.log((level - fall) / level), math.log((1 - level + fall) / (1 - level)))

    def gained(number: int, at: float) -> NDArray[np.float64]:
        return np.where(drawn.random((times, number)) < at, *gains)

    limit = float(np.quantile(_cusum(gained(HORIZON, level), np.zeros(times)).max(axis=1), 1 - ERROR))
    quiet = np.minimum(_cusum(gained(300, level), np.zeros(times))[:, -1], limit)
    over = _cusum(gained(2_000, level - fall), quiet) >= limit
    return float(np.median(np.where(over.any(axis=1), over.argmax(axis=1) + 1, np.inf)))


def _cusum(gains: NDArray[np.float64], begun: NDArray[np.float64]) -> NDArray[np.float64]:
    """The statistic after each verdict, of many series at once."""
    columns: list[NDArray[np.float64]] = []
    at = begun
    for column in gains.T:
        at = np.maximum(0.0, at) + column
        columns.append(at)
    return np.stack(columns, axis=1)
