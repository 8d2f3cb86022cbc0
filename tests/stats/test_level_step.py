"""The step off a level: the same as by dense covariance matrices, rarely small by chance, and none without scatter."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as reference

from minions_evals_mcp.stats.series.level_step import STRONGEST, level_step


def resembling(size: int, likeness: float, seed: int) -> list[float]:
    draw = random.Random(seed)  # noqa: S311  a simulation, no secret
    rests = [draw.gauss(0, 0.05)]
    while len(rests) < size:
        rests.append(likeness * rests[-1] + draw.gauss(0, 0.05 * math.sqrt(1 - likeness**2)))
    return [0.8 + rest for rest in rests]


def dense(scores: list[float], levels: list[int], place: int) -> tuple[float, float]:
    """The step and its p-value by the covariance matrix of every correlation."""
    size, columns = len(scores), len(levels) + 1
    design = np.array([[float(run >= begun) for begun in [*levels, place]] for run in range(size)])
    free, least = size - columns, 0.02 * (max(scores) - min(scores))
    correlations = [STRONGEST * number / 12 for number in range(13)]
    before = [1 - one / (STRONGEST + 0.05) for one in correlations]
    steps, chances, supports = list[float](), list[float](), list[float]()
    for number, one in enumerate(correlations):
        covariance = np.array([[one ** abs(a - b) for a in range(size)] for b in range(size)]) / (1 - one**2)
        inverse: NDArray[np.floating[Any]] = np.linalg.inv(covariance)
        information: NDArray[np.floating[Any]] = design.T @ inverse @ design
        found: NDArray[np.floating[Any]] = np.linalg.solve(information, design.T @ inverse @ np.array(scores))
        rest: NDArray[np.floating[Any]] = np.array(scores) - design @ found
        squares = max(float(rest @ inverse @ rest), free * least**2)
        error = math.sqrt(float(np.linalg.inv(information)[-1, -1]) * squares / free)
        steps.append(float(found[-1]))
        chances.append(float(reference.t.cdf(found[-1] / error, free)))
        weight = before[number] / sum(before) / 2 + (0.5 if number == 0 else 0.0)
        determinant = float(np.linalg.det(covariance)) * float(np.linalg.det(information))
        likelihood = -0.5 * (math.log(determinant) + free * math.log(squares))
        supports.append(math.log(weight) + likelihood)
    shares = np.exp(np.array(supports) - max(supports))
    shares /= shares.sum()
    step, fallen = float(shares @ steps), float(shares @ chances)
    return step, fallen if step < 0 else 1 - fallen


@pytest.mark.parametrize("levels", [[0], [0, 9]], ids=["one level", "two levels"])
@pytest.mark.parametrize("likeness", [0.0, 0.6])
@pytest.mark.parametrize("size", [17, 18, 40])
def test_the_step_is_that_of_dense_covariance_matrices(levels: list[int], likeness: float, size: int) -> None:
    scores = resembling(size, likeness, seed=size)
    stepped = [*scores[:-4], *(score - 0.07 for score in scores[-4:])]
    found = level_step(stepped, levels, size - 4)
    assert found is not None
    assert (found.step, found.p_value) == pytest.approx(dense(stepped, levels, size - 4), rel=1e-6)


@pytest.mark.parametrize(("likeness", "share"), [(0.0, 0.05), (0.6, 0.1)], ids=["independent", "alike"])
def test_of_flat_noise_few_steps_look_unlikely(likeness: float, share: float) -> None:
    found = [level_step(resembling(30, likeness, seed), [0], 25) for seed in range(300)]
    unlikely = sum(one is not None and one.p_value <= 0.025 for one in found)  # one-sided, on either side
    assert unlikely <= 300 * share + 3 * math.sqrt(300 * share * (1 - share))


def test_scores_that_are_all_equal_or_too_few_have_no_step() -> None:
    assert level_step([0.7] * 20, [0], 15) is None
    assert level_step([0.7, 0.8, 0.7, 0.5], [0], 3) is None


def test_scores_that_never_scattered_before_they_fell_have_a_step_that_is_not_certain() -> None:
    found = level_step([0.8] * 12 + [0.6] * 3, [0], 12)
    assert found is not None
    assert found.step == pytest.approx(-0.2)
    assert 0 < found.p_value < 1e-4
