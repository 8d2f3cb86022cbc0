"""Fuzzes every way in, in turn, and keeps its finds: python -m tests.bench.fuzz --minutes 10 [--seed 1] [--only KIND] [--keep FOLDER].

The ways in: command-line arguments, files of all readers, project files, tools, the testing API, the page and the exporters' endpoint.
`tests.bench.fuzz.wire` speaks to a server in a process of its own.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from tests.bench.fuzz import commands, sites, tools
from tests.bench.fuzz.finds import Finds

TURN_S = 15.0
"""How long each way in is tried before the next one."""


def turns(finds: Finds, seed: int) -> dict[str, Callable[[float], None]]:
    """What tries a way in until a moment, by its name; each turn has a seed of its own."""
    draw = random.Random(seed)  # noqa: S311  chooses inputs, guards nothing

    def command_line(step: Callable[[commands.Bench], None]) -> Callable[[float], None]:
        def turn(until: float) -> None:
            bench = commands.Bench(finds, draw)
            try:
                while time.monotonic() < until:
                    step(bench)
            finally:
                bench.close()

        return turn

    def site(ask: Callable[..., object]) -> Callable[[float], None]:
        def turn(until: float) -> None:
            with tempfile.TemporaryDirectory() as folder:
                anyio.run(ask, finds, draw, until, Path(folder))  # pyright: ignore[reportArgumentType]

        return turn

    def called(until: float) -> None:
        while time.monotonic() < until:
            with tempfile.TemporaryDirectory() as folder:
                found = anyio.run(tools.fuzz, 100, draw.randrange(10**9), Path(folder))
            finds.tries["tools"] = finds.tries.get("tools", 0) + found.calls
            for one in found.faults:
                if "too slow" not in one:  # beside others, time says little
                    finds.fault("tools", "see", one)

    return {
        "arguments": command_line(commands.Bench.command_lines),
        "readers": command_line(commands.Bench.files),
        "logs": command_line(commands.Bench.logs),
        "graphql": site(sites.graphql),
        "pages": site(sites.pages),
        "otlp": site(sites.otlp),
        "tools": called,
    }


def main() -> None:
    """Prints the tries and the finds; exit 1 where anything was found."""
    asked = argparse.ArgumentParser(prog="python -m tests.bench.fuzz")
    asked.add_argument("--minutes", type=float, default=10)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--only", action="append")
    asked.add_argument("--keep", type=Path)
    given = asked.parse_args()
    finds = Finds(given.keep)
    end = time.monotonic() + given.minutes * 60
    ways = {name: turn for name, turn in turns(finds, given.seed).items() if not given.only or name in given.only}
    while time.monotonic() < end:
        for turn in ways.values():
            turn(min(end, time.monotonic() + TURN_S))
    for kind, number in finds.tries.items():
        took, what = finds.slowest.get(kind, (0.0, ""))
        sys.stdout.write(f"{kind}: {number} tries, slowest {took:.2f} s ({what[:100]!r})\n")
    sys.stdout.write("".join(f"  {one}\n" for one in finds.faults[:60]) + f"{len(finds.faults)} finds\n")
    sys.exit(bool(finds.faults))


if __name__ == "__main__":
    main()
