"""How often the verdicts and trends are wrong, how often the intervals hold the truth, and how often a change is found.

    python -m tests.bench.figures.calibration [--pairs 10000] [--histories 10000] [--processes 2]

Everything is simulated with a known truth and seeded. Ends with exit code 1 where a promised limit is broken: by more than
two standard errors of the simulation, for a rule that errs exactly as often as it may lies above in half of all runs.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from minions_evals_mcp.domain.results import Direction
from minions_evals_mcp.stats.comparison import compare
from minions_evals_mcp.stats.sequential import InterimAnalysis, look
from minions_evals_mcp.stats.series.change_point import changes
from minions_evals_mcp.stats.series.trend import read_series, streak_start
from tests.bench.figures.simulated import Population

CASES, TRIALS = (10, 20, 50, 200), (1, 5)
GAINS = {10: 0.8, 20: 0.7, 50: 0.45, 200: 0.25}
SEED = 20261103
RUNS, STEP = 50, 25
MARGIN = 0.05
"""The default margin of equivalence; what differs by as much must rarely be called equivalent."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the report, and whether a limit of the issue is broken."""

    text: str
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """Shares of many comparisons: each verdict, the intervals that hold the truth, and those told of a skew."""

    improved: float
    regressed: float
    equivalent: float
    covered: float
    warned: float

    @property
    def decided(self) -> float:
        return self.improved + self.regressed


def tally(pairs: int, population: Population) -> Tally:
    """What is said of that many comparisons of one kind."""
    draw = np.random.default_rng(
        [SEED, population.cases, population.trials, len(population.kind), round(population.gain * 100)]
    )
    found = [compare(population.pairs(draw)) for _ in range(pairs)]
    verdicts = Counter(one.verdict for one in found)
    return Tally(
        improved=verdicts["improved"] / pairs,
        regressed=verdicts["regressed"] / pairs,
        equivalent=verdicts["equivalent"] / pairs,
        covered=sum(one.interval[0] <= population.truth <= one.interval[1] for one in found) / pairs,
        warned=sum("skewed" in one.caution for one in found) / pairs,
    )


def comparisons(pairs: int, population: Population) -> Line:
    """The tally of one kind in words, held against the limits."""
    seen = tally(pairs, population)
    text = f"{population.kind:7} {population.cases:4} cases × {population.trials}: covered {seen.covered:.3f}"
    if population.kind == "skewed":
        said = f"{text}, told of the skew in {seen.warned:.3f}"
        return Line(said, broken=_above(1 - seen.covered, 0.12 if population.cases <= 20 else 0.07, pairs))
    if population.gain:
        said = f"{text}, {seen.improved:.3f} improved (theory {population.power():.3f}), {seen.regressed:.4f} regressed"
        said = f"{said}, {seen.equivalent:.4f} equivalent, true difference {population.truth:.3f}"
        alike = population.truth >= MARGIN and _above(seen.equivalent, 0.05, pairs)
        return Line(said, broken=alike or _above(1 - seen.covered, 0.07, pairs))
    said = f"{text}, {seen.decided:.4f} false ({seen.improved:.4f} improved, {seen.regressed:.4f} regressed)"
    return Line(
        f"{said}, {seen.equivalent:.3f} equivalent",
        broken=_above(seen.decided, 0.05, pairs) or _above(1 - seen.covered, 0.07, pairs),
    )


def peeking(pairs: int, planned: int, changing: float, gained: float = 0.5) -> Line:
    """Passes was sequential and may have stopped: a share `changing` of the cases changes, a share `gained` of it for the better."""
    draw = np.random.default_rng([SEED, planned, round(changing * 100), round(gained * 100)])
    looks = [_settled(draw.random((planned, 2)) < (changing, gained)) for _ in range(pairs)]
    said = Counter(one.decision for one in looks)
    improved, regressed = said["improved"] / pairs, said["regressed"] / pairs
    saved = fmean(one.saved / planned for one in looks)
    what = f"peeking {planned:4} cases, {changing:.0%} change, {gained:.0%} of them gained"
    text = f"{what}: {improved:.4f} improved, {regressed:.4f} regressed, {saved:.0%} of the cases saved"
    return Line(text, broken=gained == 0.5 and _above(improved + regressed, 0.05, pairs))


def _settled(cases: NDArray[np.bool_]) -> InterimAnalysis:
    """The look that ends it: `cases` says of each, in the order run, whether it changes and whether for the better."""
    b = np.cumsum(cases.all(axis=1)).tolist()
    changed = np.cumsum(cases[:, 0]).tolist()
    looks = (look(b[n], changed[n] - b[n], n + 1, len(cases)) for n in range(len(cases)))
    return next(one for one in looks if one.decision != "continue")


def trends(histories: int, shape: str) -> Line:
    """Histories of 50 runs of one shape: what is read at each run, and where change-points are seen."""
    draw = np.random.default_rng([SEED, *map(ord, shape)])
    drawn = [_history(shape, draw) for _ in range(histories)]
    series: list[list[Direction]] = [[reading.direction for reading in read_series(scores)] for scores in drawn]
    windows = Counter(direction for directions in series for direction in directions[4:])
    degrading, improving = (windows[name] / windows.total() for name in ("degrading", "improving"))
    escalated = fmean(
        any(streak_start(directions[:end]) == end - 3 for end in range(5, RUNS + 1)) for directions in series
    )
    points = [[change.place for change in changes(scores)] for scores in drawn[: -(-histories // 10)]]
    split, near = fmean(map(bool, points)), fmean(any(abs(at - STEP) <= 2 for at in found) for found in points)
    looked = fmean(
        any(changes(scores[:end]) for end in range(12, RUNS + 1)) for scores in drawn[: -(-histories // 100)]
    )
    text = f"{shape:18}: {degrading:.4f} of the windows degrading, {improving:.4f} improving, {escalated:.4f} escalated"
    said = f"{text}; change-points in {split:.3f}, near run {STEP} in {near:.3f}, at some look in {looked:.2f}"
    wrong = (
        _above(degrading, 0.042, windows.total() // 5)  # five runs share a window
        or _above(escalated, 0.075, histories)
        or _above(split, 0.05, len(points))
        or _above(looked, 0.05, -(-histories // 100))
    )
    return Line(said, broken=shape.startswith("flat") and wrong)


def _above(share: float, limit: float, trials: int) -> bool:
    return share > limit + 2 * math.sqrt(limit * (1 - limit) / trials)


def _history(shape: str, draw: np.random.Generator) -> list[float]:
    runs = np.arange(RUNS)
    level = {
        "flat": np.full(RUNS, 0.7),
        "flat, noisy": np.full(RUNS, 0.6),
        "flat, ties": np.full(RUNS, 0.7),
        "drift -0.01 a run": 0.9 - 0.01 * runs,
        "step -0.1 at 25": np.where(runs < STEP, 0.8, 0.7),
        "step -0.2 at 25": np.where(runs < STEP, 0.8, 0.6),
    }[shape]
    noise = {"flat, noisy": 0.15, "flat, ties": 0.1}.get(shape, 0.05)
    scores = np.clip(level + draw.normal(0, noise, RUNS), 0, 1)
    return [float(score) for score in (np.round(scores, 1) if shape == "flat, ties" else scores)]


SHAPES = ("flat", "flat, noisy", "flat, ties", "drift -0.01 a run", "step -0.1 at 25", "step -0.2 at 25")


def populations() -> list[Population]:
    """Those of the issue: without a difference, with one, and strongly skewed; the largest first, for they take longest."""
    null = [Population(kind, n, k) for n, k, kind in product(CASES[::-1], TRIALS[::-1], ("binary", "graded"))]
    gains = [
        Population(kind, n, k, GAINS[n] / (math.sqrt(6) if kind == "graded" else 1) / (2 if k > 1 else 1))
        for n, k, kind in product(CASES[::-1], TRIALS[::-1], ("binary", "graded"))
    ]
    at_the_margin = [Population(kind, n, 5, 2 * MARGIN) for n, kind in product(CASES[::-1], ("binary", "graded"))]
    return [*null, *gains, *at_the_margin, *(Population("skewed", n, 1) for n in CASES)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--histories", type=int, default=10_000)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    started = time.perf_counter()
    with ProcessPoolExecutor(options.processes) as pool:
        lines = [
            *_told(pool.map(partial(comparisons, options.pairs), populations())),
            *_told(pool.map(partial(peeking, options.pairs), CASES * 3, [0.1] * 4 + [0.3] * 4 + [1.0] * 4)),
            *_told(pool.map(partial(peeking, options.pairs), CASES * 2, [0.3] * 8, [0.8] * 4 + [1.0] * 4)),
            *_told(pool.map(partial(trends, options.histories), SHAPES)),
        ]
    broken = sum(line.broken for line in lines)
    sys.stdout.write(f"{broken} limits broken; {time.perf_counter() - started:.0f} s\n")
    raise SystemExit(broken > 0)


def _told(lines: Iterable[Line]) -> list[Line]:
    told: list[Line] = []
    for line in lines:
        sys.stdout.write(f"{'BROKEN ' if line.broken else ''}{line.text}\n")
        sys.stdout.flush()
        told.append(line)
    return told


if __name__ == "__main__":
    main()
