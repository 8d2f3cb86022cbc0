"""Whether the pass rate keeps its promise where a simulated user spoils conversations: simulations with a known success rate.

python -m tests.bench.conversations.coverage [--simulations 1000] [--talks 100] [--spoil 0.3] [--found 1]

An agent of each true rate has conversations. The player spoils a share of them, each attempt by itself: a spoiled one fails whatever
the agent does. What the rules find is had again, up to two times, and left out where all attempts are spoiled. The raw rate counts
what is spoiled as the agent's. Where difficult conversations are spoiled more often, the bounds must hold the truth.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from random import Random

from minions_evals_mcp.domain.conversations import RETRIES
from minions_evals_mcp.stats.intervals import wilson

RATES = (0.3, 0.5, 0.7, 0.9)
HARD = 0.5
"""The share of conversations that are hard; of those an agent passes less, and more are spoiled."""


def simulated(draw: Random, rate: float, chosen: Namespace) -> tuple[int, int, int]:
    """Passed and judged conversations, and how many pass in the raw count of first attempts."""
    passed = judged = raw = 0
    for _ in range(chosen.talks):
        first = True
        for _ in range(RETRIES + 1):
            spoiled = draw.random() < chosen.spoil
            right = draw.random() < rate and not spoiled
            raw += right and first
            first = False
            if not (spoiled and draw.random() < chosen.found):
                passed, judged = passed + right, judged + 1
                break
    return passed, judged, raw


def covered(rate: float, chosen: Namespace) -> tuple[float, float, float]:
    """The share of intervals that hold the true rate, the mean of the reported rates, and the mean of the raw ones."""
    draw = Random(f"covered {rate}")  # noqa: S311  a simulation, no secret
    holds, reported, raw = 0, 0.0, 0.0
    for _ in range(chosen.simulations):
        passed, judged, first = simulated(draw, rate, chosen)
        low, high = wilson(passed, judged) or (0.0, 1.0)
        holds += low <= rate <= high
        reported += passed / judged
        raw += first / chosen.talks
    return holds / chosen.simulations, reported / chosen.simulations, raw / chosen.simulations


def bounded(rate: float, chosen: Namespace) -> float:
    """The share of simulations whose bounds hold the truth, where hard conversations are always spoiled."""
    draw = Random(f"bounded {rate}")  # noqa: S311  as above
    holds = 0
    for _ in range(chosen.simulations):
        outcomes = [(draw.random() < rate * (0.6 if hard else 1.4 if rate <= 0.7 else 1.0), hard)
                    for hard in (draw.random() < HARD for _ in range(chosen.talks))]  # fmt: skip
        seen = [(passes, hard and draw.random() < 2 * chosen.spoil) for passes, hard in outcomes]
        missing = sum(spoiled for _, spoiled in seen)
        passing = sum(passes for passes, spoiled in seen if not spoiled)
        truth = sum(passes for passes, _ in outcomes) / chosen.talks
        holds += passing / chosen.talks <= truth <= (passing + missing) / chosen.talks
    return holds / chosen.simulations


def main() -> None:
    """Says the shares for each true rate."""
    parser = ArgumentParser()
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--talks", type=int, default=100)
    parser.add_argument("--spoil", type=float, default=0.3)
    parser.add_argument(
        "--found", type=float, default=1.0, help="the share of spoiled conversations that the rules find"
    )
    chosen = parser.parse_args()
    for rate in RATES:
        holds, reported, raw = covered(rate, chosen)
        say(
            f"true {rate:.1f}: interval holds it in {100 * holds:.1f} %, reported {reported:.3f}, raw {raw:.3f}"
            f"; bounds hold it in {100 * bounded(rate, chosen):.1f} % where hard ones are spoiled"
        )


def say(line: str) -> None:
    """A line of the answer."""
    print(line, flush=True)  # noqa: T201  a command's output


if __name__ == "__main__":
    main()
