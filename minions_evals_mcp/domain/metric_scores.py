"""The score of a metric that checks name."""

from __future__ import annotations

from typing import NamedTuple


class MetricScore(NamedTuple):
    """A score (0–1) under the name of its metric, and what it weighs there."""

    name: str
    score: float
    weight: float = 1.0
