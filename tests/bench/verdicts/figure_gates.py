"""How often an unchanged build fails or ends undecided at a gate on a figure: `python -m tests.bench.verdicts.figure_gates [--builds 400]`.

Each build is a benchmark-run of an agent that passes a case with the chance `TRUE_RATE`. The limit of the gate is .05 or .10
below it. The exit codes are those of `run-benchmark --min-score`, with `--literal` and without: 0 passed, 1 failed, 3 undecided.
A fall by .30 stands beside them. Ends with 1 where more than 2.5 % of the unchanged builds fail.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import anyio

from minions_evals_mcp.cli.run.gates import gate
from minions_evals_mcp.engine.answers.run_summary import RunSummary, summarize
from tests.workshop import bench, config_in, fleet, opened

TARGET = "python:tests.bench.verdicts.figure_gates:coin"
TRUE_RATE, FALL, MOST_FAILED = 0.80, 0.30, 0.025
DRAW = random.Random(1)  # noqa: S311  a simulation, no secret
CHANCE = [TRUE_RATE]


async def coin(inputs: dict[str, str]) -> str:
    """Answers one case by chance."""
    del inputs
    return "good" if DRAW.random() < CHANCE[0] else "bad"


async def summaries(cases: int, builds: int, chance: float) -> list[RunSummary]:
    """So many builds of an agent that passes a case with that chance."""
    CHANCE[:] = [chance]
    DRAW.seed(cases)
    with tempfile.TemporaryDirectory() as folder:
        async with opened(config_in(Path(folder), concurrency=1)) as engine:
            await fleet(engine, cases)
            return [
                await summarize(engine, (await bench(engine, "b", target=TARGET, key=f"build-{number}")).id, limit=1)
                for number in range(builds)
            ]


def codes(built: list[RunSummary], limit: float, *, literal: bool) -> Counter[int]:
    """How often each exit code ends the command."""
    return Counter(gate(one, min_score=limit, fail_on_regression=False, literal=literal) for one in built)


async def measured(builds: int, sizes: tuple[int, ...] = (20, 50, 200)) -> bool:
    """Prints the shares of exit 1 and 3; whether unchanged builds fail rarely enough."""
    well = True
    for cases in sizes:
        same = await summaries(cases, builds, TRUE_RATE)
        fallen = await summaries(cases, max(2, builds // 4), TRUE_RATE - FALL)
        for below in (0.05, 0.10):
            limit = round(TRUE_RATE - below, 2)
            for literal in (True, False):
                unchanged, fell = codes(same, limit, literal=literal), codes(fallen, limit, literal=literal)
                sys.stdout.write(
                    f"{cases} cases, true rate {TRUE_RATE:.2f}, limit {limit:.2f}{', --literal' if literal else ''}:"
                    f" unchanged exit 1 {unchanged[1] / builds:.1%}, exit 3 {unchanged[3] / builds:.1%};"
                    f" a fall by {FALL:.2f} exit 1 {fell[1] / len(fallen):.1%}, exit 3 {fell[3] / len(fallen):.1%}\n"
                )
                well &= literal or unchanged[1] <= MOST_FAILED * builds + 1
    return well


def main() -> int:
    """Measures all; 0 where the limit holds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--builds", type=int, default=400)
    from tests.bench.verdicts import figure_gates  # noqa: PLC0415  the module that the target is found in, not `__main__`

    return 0 if anyio.run(figure_gates.measured, options.parse_args().builds) else 1


if __name__ == "__main__":
    sys.exit(main())
