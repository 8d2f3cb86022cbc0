"""Do intervals of skewed figures (times, costs) cover what they say? `python -m tests.bench.verdicts.skewed_figures [RUNS]`.

Geometric means of paired ratios, medians and 95th percentiles of 15, 40 and 100 cases: Student's interval on the logarithms and
the order statistics, which the answers give, beside the bootstrap's BCa (Efron 1987, JASA 82:171). Seed 44. With 1,000 runs
BCa covers less nearly everywhere, and least where it was wanted: ratios of 15 tied costs .78 (Student .95), a 95th percentile of
15 .50 (.99). Ratios of 15 of which one in ten waits for a retry are covered in .90 (BCa .87): more cases help, no interval does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from minions_evals_mcp.stats.branches import paired_ratios
from minions_evals_mcp.stats.skewed.quantiles import quantile_interval

SEED, RESAMPLES = 44, 1_000
SIZES = (15, 40, 100)
Floats = NDArray[np.float64]
Rng = np.random.Generator
Draw = Callable[[Rng, int], tuple[Floats, Floats]]


def _lognormal(rng: Rng, size: int) -> tuple[Floats, Floats]:
    """Cases differ (sd .8 of the logarithm), and so do the calls of each (sd .6)."""
    case = rng.normal(6, 0.8, size)
    return np.exp(case + rng.normal(0, 0.6, size)), np.exp(case + rng.normal(0.1, 0.6, size))


def _wild(rng: Rng, size: int) -> tuple[Floats, Floats]:
    """As before with a sd of 1.5: a few calls cost most."""
    return np.exp(rng.normal(6, 1.5, size)), np.exp(rng.normal(6, 1.5, size))


def _ties(rng: Rng, size: int) -> tuple[Floats, Floats]:
    """Costs of three prices, and six cases in ten cost the same with both."""
    prices = np.array([1.0, 2.0, 8.0])
    base, other = prices[rng.integers(0, 3, size)], prices[rng.integers(0, 3, size)]
    return base, np.where(rng.random(size) < 0.6, base, other)


def _retries(rng: Rng, size: int) -> tuple[Floats, Floats]:
    """One call in ten of B waits for a retry that takes ten times as long: ratios are skewed, too."""
    case = rng.normal(6, 0.8, size)
    slow = np.where(rng.random(size) < 0.1, math.log(10), 0.0)
    return np.exp(case + rng.normal(0, 0.3, size)), np.exp(case + rng.normal(0, 0.3, size) + slow)


def _exponential(rng: Rng, size: int) -> tuple[Floats, Floats]:
    """B waits an exponential time on top of the case's own."""
    case = np.exp(rng.normal(6, 0.5, size))
    return case, case + rng.exponential(400, size)


SHAPES: dict[str, Draw] = {
    "lognormal": _lognormal, "wild": _wild, "ties": _ties, "retries": _retries, "exponential": _exponential,
}  # fmt: skip


def bca(values: Floats, statistic: Callable[[Floats], Floats], rng: Rng, level: float = 0.95) -> tuple[float, float]:
    """The bias-corrected and accelerated interval; `statistic` reduces the last axis."""
    size, normal = len(values), NormalDist()
    here = float(statistic(values[None])[0])
    drawn = np.sort(statistic(values[rng.integers(0, size, (RESAMPLES, size))]))
    below = (float((drawn < here).sum()) + float((drawn == here).sum()) / 2) / RESAMPLES
    bias = normal.inv_cdf(min(1 - 0.5 / RESAMPLES, max(0.5 / RESAMPLES, below)))
    left = statistic(np.stack([np.delete(values, place) for place in range(size)]))
    off = left.mean() - left
    spread = float((off**2).sum())
    acceleration = 0.0 if spread == 0 else float((off**3).sum()) / (6 * spread**1.5)

    def end(tail: float) -> float:
        z = bias + normal.inv_cdf(tail)
        share = normal.cdf(bias + z / (1 - acceleration * z))
        return float(drawn[min(RESAMPLES - 1, max(0, round(share * (RESAMPLES - 1))))])

    return end((1 - level) / 2), end((1 + level) / 2)


def _mean(values: Floats) -> Floats:
    return values.mean(axis=-1)


def truths(shape: Draw, cases: int) -> tuple[float, float, float]:
    """The mean logarithm of the ratio, the median and the 95th percentile of B, of so many cases."""
    base, other = shape(np.random.default_rng(SEED + 1), cases)
    return float(np.log(other / base).mean()), float(np.median(other)), float(np.quantile(other, 0.95))


def coverage(shape: Draw, size: int, runs: int, *, with_bca: bool = True, cases: int = 2_000_000) -> dict[str, float]:
    """How often each interval holds the truth."""
    rng = np.random.default_rng((SEED, size))
    ratio, *quantiles = truths(shape, cases)
    held: dict[str, int] = {}

    def count(name: str, interval: tuple[float | None, float | None], truth: float) -> None:
        low, high = interval
        dust = 1e-9 * max(1.0, abs(truth))
        inside = (low is None or low <= truth + dust) and (high is None or truth <= high + dust)
        held[name] = held.get(name, 0) + inside

    for _ in range(runs):
        base, other = shape(rng, size)
        logs = np.log(other / base)
        (made,) = paired_ratios([logs.tolist()])
        assert made is not None
        assert made.interval is not None
        count("ratio", (math.log(made.interval[0]), math.log(made.interval[1])), ratio)
        if with_bca:
            count("ratio, BCa", bca(logs, _mean, rng), ratio)
        for share, name, truth in zip((0.5, 0.95), ("median", "p95"), quantiles, strict=True):
            found = quantile_interval(other.tolist(), share)
            count(name, found.interval, truth)
            if with_bca:
                count(
                    f"{name}, BCa", bca(other, lambda rows, share=share: np.quantile(rows, share, axis=-1), rng), truth
                )
    return {name: number / runs for name, number in held.items()}


if __name__ == "__main__":
    for kind, drawn in SHAPES.items():
        for size in SIZES:
            made = coverage(drawn, size, int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
            told = "  ".join(f"{name} {share:.3f}" for name, share in made.items())
            print(f"{kind:12} n {size:3}  {told}", flush=True)  # noqa: T201  the figures are what the command is for
