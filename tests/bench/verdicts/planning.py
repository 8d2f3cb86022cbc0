"""How often a planned number of cases finds what it was planned for: `python -m tests.bench.verdicts.planning [--pairs 400]`.

A pilot of 60 cases is run twice under one version. The plan is made of it. Then pairs of versions are drawn with the planned number
of cases and the true difference, and compared. The share that is decided is to be .8; ends with 1 below .72.
"""

from __future__ import annotations

import argparse
import random
import sys

from minions_evals_mcp.stats.case_pairs import CasePair, score_differences
from minions_evals_mcp.stats.comparison import compare
from minions_evals_mcp.stats.settling import units_needed, variation_of

PILOT, LEAST = 60, 0.72


def drawn(draw: random.Random, cases: int, effect: float, *, trials: int, binary: bool) -> list[CasePair]:
    """Pairs of cases whose rates are Beta(8, 2) under both versions, where B is better by the effect on average."""
    pairs: list[CasePair] = []
    for number in range(cases):
        rate = draw.betavariate(8, 2) if binary else draw.uniform(0.2, 0.5)
        mended = 1.0 if draw.random() < effect / (1 - rate) else rate  # as a whole, where it failed now and then
        lifted = mended if binary else rate + draw.gauss(effect, effect / 2)
        scores = [
            tuple(_score(draw, chance, binary=binary) for _ in range(trials)) for chance in (rate, lifted)
        ]  # fmt: skip
        passed = [tuple(score >= 0.5 for score in side) for side in scores]
        pairs.append(CasePair(f"c{number}", scores[0], scores[1], passed[0], passed[1]))
    return pairs


def _score(draw: random.Random, chance: float, *, binary: bool) -> float:
    if binary:
        return float(draw.random() < chance)
    return min(1.0, max(0.0, draw.gauss(chance, 0.1)))


def power(effect: float, pairs: int, *, trials: int, binary: bool, seed: int = 1) -> tuple[int, float]:
    """The planned number of cases, and the share of comparisons of so many that find a true difference of that size."""
    draw = random.Random(seed)  # noqa: S311  a simulation, no secret
    pilot = drawn(draw, PILOT, 0.0, trials=trials, binary=binary)
    needed = units_needed(variation_of(pilot, score_differences(pilot)), effect, trials=trials)
    found = sum(
        compare(drawn(draw, needed, effect, trials=trials, binary=binary)).verdict == "improved" for _ in range(pairs)
    )
    return needed, found / pairs


def main() -> int:
    """Measures all; 0 where each share is large enough."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", type=int, default=400)
    pairs, well = options.parse_args().pairs, True
    for binary in (True, False):
        for effect in (0.05, 0.1, 0.15):
            for trials in (1, 3):
                needed, share = power(effect, pairs, trials=trials, binary=binary)
                kind = "passes" if binary else "scores"
                sys.stdout.write(
                    f"{kind}, effect {effect:g}, {trials} trials: {needed} cases planned, found in {share:.2f}\n"
                )
                well &= share >= LEAST
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
