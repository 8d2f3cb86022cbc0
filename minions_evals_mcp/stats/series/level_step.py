"""By how much the newest runs lie off the level before them, and how likely chance does that to runs that resemble their neighbours.

Generalised least squares under a first-order autoregression (Prais & Winsten 1954), one column for each level. How far
neighbours correlate is not known: each correlation counts as much as the scores support it, by the restricted likelihood
(Patterson & Thompson 1971, Biometrika 58:545), so that neither few runs nor the step itself bias it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST_FREE = 3
"""So many runs beyond those that the levels and the step take say how far runs scatter."""
STRONGEST = 0.9
"""Neighbours are taken to correlate by at most so much: beyond, a level cannot be told from a walk."""
_LEAST_SPREAD = 0.02
"""Of the range of the scores: what never varied yet is not known to be constant."""

Numbers = NDArray[np.floating[Any]]
_CORRELATIONS = np.linspace(0, STRONGEST, 13)
_DEPENDENT = 1 - _CORRELATIONS / (STRONGEST + 0.05)
_BEFOREHAND: Numbers = _DEPENDENT / (2 * _DEPENDENT.sum())
_BEFOREHAND[0] += 0.5
"""Before any score is seen: as likely as not runs do not resemble each other at all, and a little more than much."""


@dataclass(frozen=True, slots=True)
class LevelStep:
    """A step off the newest level, and its one-sided p-value."""

    step: float
    p_value: float


def level_step(scores: Sequence[float], levels: Sequence[int], place: int) -> LevelStep | None:
    """The step that the scores from `place` on make; None where the scores are too few, or all equal.

    `levels`: the places at which the levels before begin, the first at 0.
    """
    free = len(scores) - len(levels) - 1
    least = _LEAST_SPREAD * (max(scores) - min(scores))
    if free < FEWEST_FREE or least == 0:
        return None
    fits = _fits(np.array(scores), [*levels, place])
    squares = np.maximum(fits.squares, free * least**2)
    support = _support(fits, squares, free)
    step = float(support @ fits.steps)
    distances = math.copysign(1, step) * fits.steps / np.sqrt(fits.errors * squares / free)
    return LevelStep(step, float(support @ _beyond(distances, free)))


@dataclass(frozen=True, slots=True)
class _Fits:
    """For each correlation: the step, its squared error in units of the spread's square, the squares that are left, and the
    logarithm of the information on all levels."""

    steps: Numbers
    errors: Numbers
    squares: Numbers
    information: Numbers


def _fits(scores: Numbers, places: Sequence[int]) -> _Fits:
    """Least squares of scores with a step at each of the places, freed of what each run takes from the one before."""
    runs = np.arange(len(scores))[:, None]
    columns = (runs >= np.array(places)).astype(float)
    freed = _freed(np.column_stack([columns, scores - scores.mean()]))
    design, rest = freed[:, :, :-1], freed[:, :, -1:]
    across = design.transpose(0, 2, 1)
    information = across @ design
    inverse: Numbers = np.linalg.inv(information)
    fits = inverse @ (across @ rest)
    squares = ((rest - design @ fits) ** 2).sum(axis=(1, 2))
    weight: Numbers = np.linalg.slogdet(information)[1]
    return _Fits(fits[:, -1, 0], inverse[:, -1, -1], squares, weight)


def _freed(columns: Numbers) -> Numbers:
    """For each correlation the columns less what each row owes to the one before."""
    likeness = _CORRELATIONS[:, None, None]
    first = np.sqrt(1 - likeness**2) * columns[None, :1]
    return np.concatenate([first, columns[None, 1:] - likeness * columns[None, :-1]], axis=1)


def _support(fits: _Fits, squares: Numbers, free: int) -> Numbers:
    """Returns how far each correlation is supported, adding up to 1."""
    likelihood = (np.log(1 - _CORRELATIONS**2) - fits.information - free * np.log(squares)) / 2 + np.log(_BEFOREHAND)
    shares = np.exp(likelihood - likelihood.max())
    return shares / shares.sum()


def _beyond(distances: Numbers, free: int) -> Numbers:
    """The chance of Student's t beyond each distance, by the finite series of whole degrees of freedom (A & S 26.7.3, 26.7.4)."""
    angle = np.arctan(distances / math.sqrt(free))
    weights, powers = _series(free)
    series = np.sin(angle) * (np.cos(angle)[:, None] ** powers @ weights)
    within = 2 / math.pi * (angle + series) if free % 2 else series
    return (1 - within) / 2


@lru_cache(maxsize=256)
def _series(free: int) -> tuple[Numbers, Numbers]:
    """The weights and powers of the cosine in the series of `_beyond`."""
    powers: Numbers = np.arange(free % 2, free - 1, 2, dtype=np.float64)
    ratios: Numbers = np.where(powers > 1, (powers - 1) / np.maximum(powers, 1), 1.0)
    weights: Numbers = np.cumprod(ratios)
    return weights, powers
