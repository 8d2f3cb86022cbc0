"""Falls that flat histories are given, and steps that are seen: `python -m tests.bench.verdicts.level_shifts [--histories 200]`.

Flat: plain noise, noise whose sd grows from .03 to .08 half way, a wave of ±.08 over 30 runs, an outage of -.40 on 5 % of days, a
weekly season of -.10; 60 daily runs each. Steps: -.20 after 20 runs at sd .05; -.20 after 21 runs at sd .03 beside the weekly
season; seen within 5 runs. Every look is made as when the run is recorded.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from minions_evals_mcp.stats.series.change_point import FEWEST_POINTS, MOST_NEW, newest_change
from minions_evals_mcp.stats.series.season import without_season

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
RUNS, NEAR = 60, 2
Draw = random.Random


def falls(scores: list[float]) -> list[int]:
    """The places of the falls that are seen as the runs come in, one a day."""
    starts, found = [0], list[int]()
    for looks in range(FEWEST_POINTS, len(scores) + 1):
        moments = [BEGIN + timedelta(days=day) for day in range(looks)]
        seen = [round(score, 9) for score in without_season(scores[:looks], moments, starts, newest=MOST_NEW)]
        change = newest_change(seen, starts, looks=looks)
        if change is None or change.place - starts[-1] <= NEAR:
            continue
        starts.append(change.place)
        found += [change.place] if change.is_fall else []
    return found


def _weekend(day: int) -> float:
    return -0.1 if day % 7 >= 5 else 0.0


def _wave(draw: Draw) -> list[float]:
    phase = 2 * math.pi * draw.random()
    return [0.8 + 0.08 * math.sin(2 * math.pi * day / 30 + phase) + draw.gauss(0, 0.03) for day in range(RUNS)]


FLAT: dict[str, Callable[[Draw], list[float]]] = {
    "plain noise": lambda draw: [0.8 + draw.gauss(0, 0.05) for _ in range(RUNS)],
    "noise that grows": lambda draw: [0.8 + draw.gauss(0, 0.03 if day < RUNS / 2 else 0.08) for day in range(RUNS)],
    "a wave": _wave,
    "outages": lambda draw: [0.8 + draw.gauss(0, 0.05) - 0.4 * (draw.random() < 0.05) for _ in range(RUNS)],
    "a weekly season": lambda draw: [0.8 + _weekend(day) + draw.gauss(0, 0.03) for day in range(RUNS)],
}
STEPS: dict[str, tuple[int, Callable[[Draw], list[float]]]] = {
    "a step": (20, lambda draw: [0.8 - 0.2 * (day >= 20) + draw.gauss(0, 0.05) for day in range(25)]),
    "a step beside a weekly season": (
        21,
        lambda draw: [0.8 - 0.2 * (day >= 21) + _weekend(day) + draw.gauss(0, 0.03) for day in range(26)],
    ),
}


def measured(histories: int, seed: int = 1) -> dict[str, float]:
    """The share of flat histories with a fall, and of steps that are seen."""
    shares: dict[str, float] = {}
    for name, made in FLAT.items():
        draw = random.Random(seed)  # noqa: S311  a simulation, no secret
        shares[name] = sum(bool(falls(made(draw))) for _ in range(histories)) / histories
    for name, (place, made) in STEPS.items():
        draw = random.Random(seed)  # noqa: S311  as above
        seen = sum(any(abs(found - place) <= NEAR for found in falls(made(draw))) for _ in range(histories))
        shares[name] = seen / histories
    return shares


def main() -> int:
    """Measures all; 0 where flat histories fall in at most 10 %, and steps are seen in 85 and 75 %."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--histories", type=int, default=200)
    shares = measured(options.parse_args().histories)
    for name, share in shares.items():
        sys.stdout.write(f"{name}: {'fall told' if name in FLAT else 'seen'} in {share:.1%}\n")
    flat = all(shares[name] <= 0.1 for name in FLAT)
    return 0 if flat and shares["a step"] >= 0.85 and shares["a step beside a weekly season"] >= 0.75 else 1


if __name__ == "__main__":
    sys.exit(main())
