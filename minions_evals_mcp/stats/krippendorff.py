"""Krippendorff's alpha: how far any number of raters agree, whatever each of them left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def interval_alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Alpha of the ratings of each unit, a difference counting by its square; for pass and fail it is the nominal alpha.

    None where no unit has two ratings, or all ratings are one and the same. Krippendorff 2004, Content Analysis, chapter 11.
    """
    rated = [ratings for ratings in units if len(ratings) > 1]
    every = [rating for ratings in rated for rating in ratings]
    total = len(every)
    expected = _squares(every) / (total - 1) if total > 1 else 0.0
    if expected == 0:
        return None
    observed = math.fsum(_squares(ratings) / (len(ratings) - 1) for ratings in rated)
    return 1 - observed / expected


def _squares(ratings: Sequence[float]) -> float:
    """The squared differences of all pairs, summed: n times the sum of squares about the mean."""
    mean = math.fsum(ratings) / len(ratings)
    return len(ratings) * math.fsum((rating - mean) ** 2 for rating in ratings)
