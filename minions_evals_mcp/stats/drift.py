"""A slow move within one level, which a test of whole runs takes for resemblance: where the cases themselves show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

FEWEST = 3
"""So many runs stand on either side of a beginning."""
BESIDE = 6
"""So many runs on either side are compared."""
FEWEST_MOVED = 11
"""Fewer cases that all moved one way cannot reach p <= .001: 2 / 2^10 = .00195."""


def likeliest_place(rates: Sequence[float], cases: int) -> int | None:
    """Returns where the pass rates of runs in a row (0 to 1, of so many cases) moved most; None where too few cases can have moved."""
    places = range(FEWEST, len(rates) - FEWEST + 1)
    moves = {place: abs(_after(rates, place) - _before(rates, place)) for place in places}
    if not moves:
        return None
    place = max(moves, key=moves.__getitem__)
    return place if moves[place] * cases >= FEWEST_MOVED - 1 else None


def begun(rates: Sequence[float], place: int) -> int:
    """Returns where the move near that place began: the cut that leaves the least squares on both sides.

    Fewer than `FEWEST` runs on a side are no level yet: to cut only where there are enough would put them beside a run before.
    """
    near = range(max(1, place - FEWEST), min(len(rates) - 1, place + FEWEST) + 1)
    return min(near, key=lambda cut: _squares(rates[:cut]) + _squares(rates[cut:]))


def _before(rates: Sequence[float], place: int) -> float:
    return fmean(rates[max(0, place - BESIDE) : place])


def _after(rates: Sequence[float], place: int) -> float:
    return fmean(rates[place : place + BESIDE])


def _squares(rates: Sequence[float]) -> float:
    mean = fmean(rates)
    return math.fsum((rate - mean) ** 2 for rate in rates)
