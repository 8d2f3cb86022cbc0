"""The agreement of two raters of the same outputs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from minions_evals_mcp.stats.intervals import Bounds, wilson
from minions_evals_mcp.stats.student import t_quantile

Weighting = Literal["none", "quadratic"]
Numbers = NDArray[np.float64]

DRAWS, SEED = 4000, 20261120
PRIOR_APART, PRIOR_ALIKE = 0.3, 0.5
"""What each cell of a two-by-two table holds before anything is seen; less for disagreement, so that a perfect judge can show it."""
CAUTION = 0.9
"""A table of two categories counts as so much of its size: with few ratings the posterior alone covers .89 at its worst."""
CORNERS = 0.25
"""So many ratings are spread over the corners of a table of more categories, so that no error is none."""
FEW_OUTPUTS = 12
"""How much the alikeness of ratings is raised where few outputs show it: else 20 outputs of ten criteria cover .88 at 90 % passes."""
HIGHEST = 0.999


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of equal ratings and Cohen's kappa, each with its interval.

    `kappa` is None where both raters only ever gave one and the same rating: there is nothing beyond chance to see; its
    interval says what it may still be.
    """

    ratings: int
    outputs: int
    agreed: float
    agreed_interval: Bounds
    kappa: float | None
    kappa_interval: Bounds


@dataclass(frozen=True, slots=True)
class _Table:
    """Ratings as indexes of the sorted categories, with the output that each is of, and the credit of each cell."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    output: NDArray[np.intp]
    credit: Numbers
    outputs: int

    def shares(self, *, spread: float = 0.0, corners: float = 0.0) -> Numbers:
        """The table of shares, with so many ratings added to every cell or to its corners."""
        size = len(self.credit)
        table = np.full((size, size), spread)
        table[np.ix_([0, -1], [0, -1])] += corners / 4
        np.add.at(table, (self.first, self.second), 1.0)
        return table / table.sum()


def agreement(
    first: Sequence[float],
    second: Sequence[float],
    *,
    outputs: Sequence[Hashable] | None = None,
    weighting: Weighting = "none",
    level: float = 0.95,
) -> Agreement:
    """The agreement of two raters' ratings, one by one; "quadratic" for ratings on a scale.

    `outputs` says which output each rating is of: the ratings of one output by several criteria are not independent.
    Kappa as Cohen 1960, Educ. Psychol. Meas. 20:37, and 1968, Psychol. Bull. 70:213, a disagreement counting by the
    square of its distance on the scale. Its interval: two categories, the posterior under a weak prior; more, Student's
    on Fisher's z from each output's influence. A bootstrap over outputs covers .78 to .93 at 20 ratings; these .94 to .98.
    """
    table = _table(first, second, outputs, weighting)
    same = float((table.first == table.second).mean())
    size = len(first) / _design_effect(table)
    interval = wilson(round(same * size), max(1, round(size)), level=level)
    assert interval is not None
    bounds = (_posterior_bounds if len(table.credit) <= 2 else _influence_bounds)(table, level)
    kappa = None if len(table.credit) == 1 else _kappa(table.shares(), table.credit)
    if kappa is not None:
        bounds = min(bounds[0], kappa), max(bounds[1], kappa)
    return Agreement(len(first), table.outputs, same, (min(interval[0], same), max(interval[1], same)), kappa, bounds)


def _table(
    first: Sequence[float], second: Sequence[float], outputs: Sequence[Hashable] | None, weighting: Weighting
) -> _Table:
    if len(first) != len(second) or not first or (outputs is not None and len(outputs) != len(first)):
        raise ValueError(f"{len(first)} and {len(second)} ratings are not those of the same outputs")
    if not all(math.isfinite(rating) for rating in (*first, *second)):
        raise ValueError("a rating must be finite; leave out the outputs that a rater did not rate")
    categories = sorted({*first, *second})
    place = {category: number for number, category in enumerate(categories)}
    of = {output: number for number, output in enumerate(dict.fromkeys(outputs or range(len(first))))}
    scale: Numbers = np.array(categories, dtype=np.float64)
    apart = np.abs(scale[:, None] - scale[None, :])
    lost = (apart > 0).astype(np.float64) if weighting == "none" else (apart / (float(apart.max()) or 1.0)) ** 2
    return _Table(
        np.array([place[level] for level in first]),
        np.array([place[level] for level in second]),
        np.array([of[output] for output in (outputs or range(len(first)))]),
        1.0 - lost,
        len(of),
    )


def _kappa(shares: Numbers, credit: Numbers) -> float:
    seen, chance = float((shares * credit).sum()), _chance(shares, credit)
    return (seen - chance) / (1 - chance) if chance < 1 else 1.0


def _chance(shares: Numbers, credit: Numbers) -> float:
    return float(shares.sum(1) @ credit @ shares.sum(0))


def _influence(shares: Numbers, credit: Numbers) -> Numbers:
    """Returns how much a rating in each cell moves kappa: the gradient, centred (Fleiss, Cohen & Everitt 1969, Psychol. Bull. 72:323)."""
    kappa, chance = _kappa(shares, credit), _chance(shares, credit)
    expected = (credit @ shares.sum(0))[:, None] + (shares.sum(1) @ credit)[None, :]
    gradient = (credit - expected * (1 - kappa)) / (1 - chance)
    return gradient - float((gradient * shares).sum())


def _by_output(table: _Table, influence: Numbers) -> Numbers:
    totals = np.zeros(table.outputs)
    np.add.at(totals, table.output, influence[table.first, table.second])
    return totals


def _design_effect(table: _Table) -> float:
    """Returns how many ratings count as one, for the ratings of an output are alike; at least 1."""
    if table.outputs in {1, len(table.output)} or len(table.credit) == 1:
        return len(table.output) / table.outputs if len(table.credit) == 1 or table.outputs == 1 else 1.0
    shares = table.shares(spread=0.5)
    influence = _influence(shares, table.credit)
    totals = _by_output(table, influence)
    together = float((totals**2).sum()) * table.outputs / (table.outputs - 1)
    alone = float((shares * influence**2).sum()) * len(table.output)
    effect = together / alone * (1 + FEW_OUTPUTS / table.outputs) if alone else 1.0
    return min(max(1.0, effect), len(table.output) / table.outputs)


def _posterior_bounds(table: _Table, level: float) -> Bounds:
    """The interval of kappa over a posterior of the two-by-two table."""
    counts = np.zeros((2, 2))
    np.add.at(counts, (table.first, table.second), 1.0)
    shrink = CAUTION * _shrink(table.outputs, level) / _design_effect(table)
    prior = np.array([[PRIOR_ALIKE, PRIOR_APART], [PRIOR_APART, PRIOR_ALIKE]])
    drawn = np.random.default_rng(SEED).dirichlet((counts * shrink + prior).ravel(), size=DRAWS).reshape(-1, 2, 2)
    seen = drawn[:, 0, 0] + drawn[:, 1, 1]
    chance = (drawn.sum(2) * drawn.sum(1)).sum(1)
    low, high = cast(
        "list[float]", np.quantile((seen - chance) / (1 - chance), [(1 - level) / 2, (1 + level) / 2]).tolist()
    )
    return low, high


def _shrink(outputs: int, level: float) -> float:
    """Returns how much less a few outputs say than a normal curve has it."""
    if outputs < 2:
        return 0.0
    return (t_quantile((1 + level) / 2, 1e6) / t_quantile((1 + level) / 2, outputs - 1)) ** 2


def _influence_bounds(table: _Table, level: float) -> Bounds:
    """Student's interval on Fisher's z, from what each output moves."""
    if table.outputs < 2:
        return -1.0, 1.0
    each = len(table.output) / table.outputs
    shares = table.shares(corners=CORNERS * each)
    influence = _influence(shares, table.credit)
    totals = _by_output(table, influence) / each
    corners = influence[np.ix_([0, -1], [0, -1])]
    squares = float((totals**2).sum()) + CORNERS / 4 * float((corners**2).sum())
    size = table.outputs + CORNERS
    kappa = max(-HIGHEST, min(HIGHEST, _kappa(shares, table.credit)))
    error = math.sqrt(squares / size / (size - 1)) / (1 - kappa * kappa)
    half = t_quantile((1 + level) / 2, table.outputs - 1) * error
    return math.tanh(math.atanh(kappa) - half), math.tanh(math.atanh(kappa) + half)
