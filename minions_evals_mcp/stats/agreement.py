"""How far two raters of the same outputs agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from minions_evals_mcp.stats.intervals import Bounds, wilson

Weighting = Literal["none", "quadratic"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of equal ratings and Cohen's kappa, each with its interval.

    `kappa` is None where both raters only ever gave one and the same rating: there is nothing beyond chance to see.
    """

    outputs: int
    agreed: float
    agreed_interval: Bounds
    kappa: float | None
    kappa_interval: Bounds | None


def agreement(
    first: Sequence[float], second: Sequence[float], *, weighting: Weighting = "none", level: float = 0.95
) -> Agreement:
    """The agreement of two raters' ratings, output by output; "quadratic" for ratings on a scale.

    Raw agreement with Wilson's interval; kappa as Cohen 1960, Educ. Psychol. Meas. 20:37, and 1968, Psychol. Bull.
    70:213, a disagreement counting by the square of its distance on the scale.
    """
    ratings = _checked(first, second)
    agreed = sum(one == other for one, other in ratings)
    interval = wilson(agreed, len(ratings), level=level)
    assert interval is not None
    kappa, error = _kappa(ratings, weighting)
    half = NormalDist().inv_cdf((1 + level) / 2) * error
    bounds = None if kappa is None else (max(-1.0, kappa - half), min(1.0, kappa + half))
    return Agreement(len(ratings), agreed / len(ratings), interval, kappa, bounds)


def _checked(first: Sequence[float], second: Sequence[float]) -> list[tuple[float, float]]:
    if len(first) != len(second) or not first:
        raise ValueError(f"{len(first)} and {len(second)} ratings are not those of the same outputs")
    if not all(math.isfinite(rating) for rating in (*first, *second)):
        raise ValueError("a rating must be finite; leave out the outputs that a rater did not rate")
    return list(zip(first, second, strict=True))


def _kappa(ratings: Sequence[tuple[float, float]], weighting: Weighting) -> tuple[float | None, float]:
    """Kappa and its standard error for large samples: Fleiss, Cohen & Everitt 1969, Psychol. Bull. 72:323."""
    n = len(ratings)
    firsts, seconds = (Counter(column) for column in zip(*ratings, strict=True))
    categories = sorted(firsts | seconds)
    if len(categories) == 1:
        return None, 0.0
    reach = 1.0 if weighting == "none" else (categories[-1] - categories[0]) ** 2

    def credit(one: float, other: float) -> float:
        return 1 - (float(one != other) if weighting == "none" else (one - other) ** 2 / reach)

    of_first = {i: sum(credit(i, j) * seconds[j] for j in categories) / n for i in categories}
    of_second = {j: sum(credit(i, j) * firsts[i] for i in categories) / n for j in categories}
    seen = math.fsum(credit(i, j) for i, j in ratings) / n
    chance = sum(firsts[i] * of_first[i] for i in categories) / n
    spare = 1 - chance
    squares = math.fsum((credit(i, j) * spare - (of_first[i] + of_second[j]) * (1 - seen)) ** 2 for i, j in ratings) / n
    variance = (squares - (seen * chance - 2 * chance + seen) ** 2) / (n * spare**4)
    return (seen - chance) / spare, math.sqrt(max(0.0, variance))
