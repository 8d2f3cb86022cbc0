"""Pass rates and differences as people would have found them, from many judged outputs and the few that people labelled.

Prediction-powered inference with power tuning (PPI++: Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453) for labels drawn
with known chances: the mean of the judge's verdicts, scaled by what they are worth, plus the mean of what is left to people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.stats.intervals import Bounds
from minions_evals_mcp.stats.student import t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

FEWEST_LABELS = 20
"""Fewer labels correct nothing: their own spread cannot be told."""
UNSEEN = 0.3
"""A disagreement that the labels did not happen to hold: added to their spread, so that labels without any are no certainty."""


@frozen_type
class JudgedOutput:
    """The judge's score of an output (0 to 1), what a person said of it, and the chance with which it was drawn for them.

    Outputs of one `unit` (the trials of a case) are not independent of each other.
    """

    unit: str
    judge: float
    person: float | None = None
    chance: float = 1.0


@frozen_type
class Corrected:
    """A corrected figure with its interval. `raw` is what the judge alone says, `worth` how much its verdicts count (lambda)."""

    value: float
    interval: Bounds
    raw: float
    worth: float
    labels: int
    outputs: int


@frozen_type
class _Estimate:
    """A mean with each unit's share in its error."""

    value: float
    raw: float
    worth: float
    shares: dict[str, float]
    labels: int
    outputs: int
    unseen: float


def corrected_rate(outputs: Sequence[JudgedOutput], *, level: float = 0.95) -> Corrected | None:
    """The mean that people would have found, within 0 and 1; None with too few labels.

    The interval is Wilson's at the effective size of the estimate, with Student's quantile.
    """
    estimate = _estimate(outputs)
    if estimate is None:
        return None
    value = min(1.0, max(0.0, estimate.value))
    bounds = _score_bounds(value, _variance(estimate.shares) + estimate.unseen, estimate.labels, level)
    return Corrected(value, bounds, estimate.raw, estimate.worth, estimate.labels, estimate.outputs)


def corrected_difference(
    a: Sequence[JudgedOutput], b: Sequence[JudgedOutput], *, level: float = 0.95
) -> Corrected | None:
    """The mean of `b` minus that of `a` as people would have found it; units that both have are paired. None with too few labels."""
    of_a, of_b = _estimate(a), _estimate(b)
    if of_a is None or of_b is None:
        return None
    shares = {unit: of_b.shares.get(unit, 0.0) - of_a.shares.get(unit, 0.0) for unit in {**of_a.shares, **of_b.shares}}
    value = of_b.value - of_a.value
    error = math.sqrt(_variance(shares) + of_a.unseen + of_b.unseen)
    half = t_quantile((1 + level) / 2, min(of_a.labels, of_b.labels) - 1) * error
    return Corrected(
        max(-1.0, min(1.0, value)),
        (max(-1.0, value - half), min(1.0, value + half)),
        of_b.raw - of_a.raw,
        (of_a.worth + of_b.worth) / 2,
        of_a.labels + of_b.labels,
        of_a.outputs + of_b.outputs,
    )


def _estimate(outputs: Sequence[JudgedOutput]) -> _Estimate | None:
    import numpy as np  # noqa: PLC0415  0.1 s that runs without people's labels do not need

    labelled = [output for output in outputs if output.person is not None]
    if len(labelled) < FEWEST_LABELS:
        return None
    judged = np.array([output.judge for output in outputs])
    has = np.array([output.person is not None for output in outputs])
    people = np.array([output.person if output.person is not None else 0.0 for output in outputs])
    weight = np.where(has, 1 / np.array([output.chance for output in outputs]), 0.0)
    weight /= weight.sum()
    worth = _worth(judged, people, weight)
    left = people - worth * judged
    mean_left = float(weight @ left)
    influence = worth * (judged - judged.mean()) / len(outputs) + weight * (left - mean_left)
    shares: dict[str, float] = {}
    for output, share in zip(outputs, cast("list[float]", influence.tolist()), strict=True):
        shares[output.unit] = shares.get(output.unit, 0.0) + share
    rest = 1 - len(labelled) / len(outputs)
    unseen = rest * UNSEEN * float(weight @ weight) / len(labelled)
    raw = float(judged.mean())
    return _Estimate(worth * raw + mean_left, raw, worth, shares, len(labelled), len(outputs), unseen)


def _worth(judged: Numbers, people: Numbers, weight: Numbers) -> float:
    """The slope of people's verdicts on the judge's: 1 for a perfect judge, 0 for one that knows nothing."""
    spread = float(judged.var())
    if spread == 0:
        return 0.0
    centred = judged - float(weight @ judged)
    return float(weight @ (centred * people)) / spread


def _variance(shares: dict[str, float]) -> float:
    units = len(shares)
    return math.fsum(share * share for share in shares.values()) * (units / (units - 1) if units > 1 else 1.0)


def _score_bounds(value: float, variance: float, labels: int, level: float) -> Bounds:
    """Wilson's interval for a rate that is known as well as that variance says."""
    z2 = t_quantile((1 + level) / 2, labels - 1) ** 2
    spread = value * (1 - value)
    size = max(1.0, spread / variance) if variance > 0 and spread > 0 else float(labels)
    centre = (value + z2 / (2 * size)) / (1 + z2 / size)
    half = math.sqrt(z2 * (spread / size + z2 / (4 * size * size))) / (1 + z2 / size)
    return max(0.0, centre - half), min(1.0, centre + half)
