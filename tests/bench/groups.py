"""How often do the intervals and verdicts of grouped cases hold? Simulated through the engine's own functions.

`python -m tests.bench.groups [RUNS]`: for intra-class correlations of 0 to .40, with 10, 20 and 50 groups of 2 to 40 cases,
the share of false verdicts between equal versions and the coverage of the 95 % intervals of a difference, a pass rate and a
mean score; then trials, exact intervals, and the power that is lost where no case is in a group. Seed 44.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from minions_evals_mcp.stats.case_pairs import CasePair
from minions_evals_mcp.stats.comparison import compare
from minions_evals_mcp.stats.intervals import ScoreSums, pass_rate_interval, score_interval

SEED = 44
CORRELATIONS = (0.0, 0.08, 0.20, 0.40)
GROUPS = (10, 20, 50)
SMALLEST, LARGEST = 2, 40
Floats = NDArray[np.float64]


def group_rates(rng: np.random.Generator, rate: float, correlation: float, groups: int) -> Floats:
    """A pass rate for each group: Beta with that mean, so that passes of a group have the intra-class correlation."""
    if not correlation:
        return np.full(groups, rate)
    size = (1 - correlation) / correlation
    return rng.beta(rate * size, (1 - rate) * size, groups)


def sums_of(values: list[Floats]) -> ScoreSums:
    """The sums over groups of scores with maximum 1."""
    scores, maxima = np.array([group.sum() for group in values]), np.array([float(len(group)) for group in values])
    return ScoreSums(
        len(values), float(scores.sum()), float(maxima.sum()), float((scores**2).sum()),
        float((scores * maxima).sum()), float((maxima**2).sum()), float((scores**2 / maxima).sum()),
    )  # fmt: skip


def grouped_pairs(a: list[Floats], b: list[Floats], *, passes: bool) -> list[CasePair]:
    """The cases of both versions, group by group."""
    return [
        CasePair(
            f"{number}/{place}", (float(before),), (float(after),),
            (bool(before >= 0.5) if passes else before > 0.5,), (bool(after >= 0.5) if passes else after > 0.5,),
            group=str(number),
        )
        for number, (of_a, of_b) in enumerate(zip(a, b, strict=True))
        for place, (before, after) in enumerate(zip(of_a, of_b, strict=True))
    ]  # fmt: skip


def passes_of(rng: np.random.Generator, rates: Floats, sizes: NDArray[np.int64]) -> list[Floats]:
    """A pass (1) or fail (0) for each case of each group."""
    return [(rng.random(size) < rate).astype(float) for rate, size in zip(rates, sizes, strict=True)]


def scores_of(rng: np.random.Generator, shift: float, correlation: float, sizes: NDArray[np.int64]) -> list[Floats]:
    """Scores about .5 + shift, of which the groups' part of the variance is the correlation."""
    own, common = (1 - correlation) ** 0.5, correlation**0.5
    scores: list[Floats] = []
    for size in sizes.tolist():
        normal: Floats = rng.standard_normal(int(size)) * own + float(rng.standard_normal()) * common
        scores.append(np.minimum(1.0, np.maximum(0.0, 0.5 + shift + 0.15 * normal)))
    return scores


def differences(
    rng: np.random.Generator, runs: int, correlation: float, groups: int
) -> tuple[float, float, float, float]:
    """False verdicts between equal versions, and coverage at a true fall of .1, of passes and of scores."""
    false_passes = false_scores = covered_passes = covered_scores = 0
    for _ in range(runs):
        sizes = rng.integers(SMALLEST, LARGEST + 1, groups)
        null = [passes_of(rng, group_rates(rng, 0.7, correlation, groups), sizes) for _ in "ab"]
        false_passes += compare(grouped_pairs(*null, passes=True)).verdict in {"improved", "regressed"}
        flat = [scores_of(rng, 0.0, correlation, sizes) for _ in "ab"]
        false_scores += compare(grouped_pairs(*flat, passes=False)).verdict in {"improved", "regressed"}
        fell = [passes_of(rng, group_rates(rng, rate, correlation, groups), sizes) for rate in (0.7, 0.6)]
        low, high = compare(grouped_pairs(*fell, passes=True)).interval
        covered_passes += low <= -0.1 <= high
        lower = [scores_of(rng, shift, correlation, sizes) for shift in (0.0, -0.05)]
        low, high = compare(grouped_pairs(*lower, passes=False)).interval
        covered_scores += low <= -0.05 <= high
    return false_passes / runs, false_scores / runs, covered_passes / runs, covered_scores / runs


def rates(rng: np.random.Generator, runs: int, correlation: float, groups: int, rate: float) -> float:
    """Coverage of the pass rate's interval."""
    hits = 0
    for _ in range(runs):
        sizes = rng.integers(SMALLEST, LARGEST + 1, groups)
        interval = pass_rate_interval(sums_of(passes_of(rng, group_rates(rng, rate, correlation, groups), sizes)))
        assert interval is not None
        hits += interval.bounds[0] <= rate <= interval.bounds[1]
    return hits / runs


def means(rng: np.random.Generator, runs: int, correlation: float, groups: int) -> float:
    """Coverage of the mean score's interval."""
    hits = 0
    for _ in range(runs):
        sizes = rng.integers(SMALLEST, LARGEST + 1, groups)
        bounds = score_interval(sums_of(scores_of(rng, 0.0, correlation, sizes)))
        assert bounds is not None
        hits += bounds[0] <= 0.5 <= bounds[1]
    return hits / runs


def trials(rng: np.random.Generator, runs: int, cases: int, tries: int, rate: float) -> tuple[float, float]:
    """Coverage of the pass rate's interval where each case is tried several times, and false verdicts of equal versions."""
    hits = false = 0
    sizes = np.full(cases, tries)
    for _ in range(runs):
        case_rates = group_rates(rng, rate, 0.5, cases)
        a, b = passes_of(rng, case_rates, sizes), passes_of(rng, case_rates, sizes)
        interval = pass_rate_interval(sums_of(a))
        assert interval is not None
        hits += interval.bounds[0] <= rate <= interval.bounds[1]
        pairs = [
            CasePair(str(number), tuple(map(float, of_a)), tuple(map(float, of_b)), tuple(of_a > 0), tuple(of_b > 0))
            for number, (of_a, of_b) in enumerate(zip(a, b, strict=True))
        ]
        false += compare(pairs).verdict in {"improved", "regressed"}
    return hits / runs, false / runs


def lines(runs: int) -> Iterator[str]:
    """The figures, a line each."""
    rng = np.random.default_rng(SEED)
    for groups in GROUPS:
        for correlation in CORRELATIONS:
            found = differences(rng, runs, correlation, groups)
            yield "ICC {:.2f}, {} groups: false verdicts {:.3f} (passes) {:.3f} (scores), covered {:.3f} {:.3f}".format(
                correlation, groups, *found
            )
            covered = "  ".join(
                f"{rate}: {rates(rng, runs, correlation, groups, rate):.3f}" for rate in (0.5, 0.8, 0.9)
            )
            yield f"    pass rates covered {covered}; mean scores {means(rng, runs, correlation, groups):.3f}"
    for cases, tries in ((20, 5), (30, 10), (50, 3)):
        for rate in (0.5, 0.8, 0.9):
            hits, false = trials(rng, runs, cases, tries, rate)
            yield f"{cases} cases x {tries} trials at {rate}: pass rate covered {hits:.3f}, false verdicts {false:.3f}"
    for size in (3, 5, 8, 10):
        for rate in (0.5, 0.8, 0.9):
            alone = np.ones(size, dtype=np.int64)
            inside = 0
            for _ in range(runs):
                found = pass_rate_interval(sums_of(passes_of(rng, np.full(size, rate), alone)))
                assert found is not None
                inside += found.bounds[0] <= rate <= found.bounds[1]
            yield f"{size} cases at {rate}: pass rate covered {inside / runs:.3f}"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 2000):
        print(line, flush=True)  # noqa: T201  a command's output
