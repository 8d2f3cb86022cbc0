"""Alarms of a fall and of other requests: `python -m tests.bench.reach.quality_falls [--fleets 20] [--falls 100] [--repeat 5]`."""

from __future__ import annotations

import argparse
import random
from statistics import median

import numpy as np

from tests.shared.quality_falls import A_DAY, BEFORE, DAYS, oracle_traces, quiet_alarms, traces_to_alarm
from tests.shared.request_drift import traces_to_alarm as traces_to_drift

LEVELS = (0.95, 0.9, 0.8, 0.7)
SHARES = (0.0, 0.05, 0.1, 0.2)


def main(fleets: int, falls: int, repeat: int) -> None:
    """Print false alarms of quiet fleets, and how long a fall of ten points takes to be seen."""
    lot = random.Random(1)  # noqa: S311  a simulation
    for share in SHARES:
        seen = [traces_to_drift(lot, share, DAYS * A_DAY if share == 0 else 1_000) for _ in range(fleets * 2)]
        early = sum(at <= 0 for at in seen)
        print(  # noqa: T201  a command
            f"{share:.0%} of other requests: seen after {median(seen):.0f} traces (median), {early} of {len(seen)} alarmed before"
        )
    for level in LEVELS:
        drawn = np.random.default_rng(round(1000 * level))
        alarms = [quiet_alarms(drawn, level, fleets) for _ in range(repeat)]
        ours, oracle = traces_to_alarm(drawn, level, 0.1, falls), oracle_traces(drawn, level, 0.1)
        print(  # noqa: T201  a command
            f"{level:.2f}: alarms in {fleets} quiet fleets of {DAYS} days at {A_DAY} a day: {alarms}; a fall of 0.1 after {BEFORE}"
            f" verdicts is seen after {ours:.0f} traces, by the oracle after {oracle:.0f}: {ours / oracle:.2f} times"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=20)
    parser.add_argument("--falls", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    main(given.fleets, given.falls, given.repeat)
