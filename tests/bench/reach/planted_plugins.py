"""Lift by component of planted plugins: `python -m tests.bench.reach.planted_plugins [--each 10] [--cases 40] [--only KIND]`.

Half of the plugins have five components and a budget for each of them, half have eight and a budget for six arms, which is
halves, their halves and so on. Of those that two components help the verdict alone is asked for.
"""

from __future__ import annotations

import argparse
import sys

import anyio

from tests.shared.planted_plugins import KINDS, lifted, planted

ARMS = 6
WRONG, FOUND = 0.05, 0.9


async def main(each: int, cases: int, only: str | None) -> bool:
    """Prints what was found of each kind; whether verdicts and components are as often right as they should be."""
    wrong = found = made = told = 0
    for kind in KINDS if only is None else (only,):
        for seed in range(each):
            plugin = planted(kind, seed, 8 if seed % 2 else 5)
            result = await lifted(plugin, cases=cases, outputs=None if kind == "helps" else ARMS * cases)
            is_wrong, is_found = plugin.is_wrong(result), kind == "helps" or plugin.is_found(result)
            made, wrong = made + 1, wrong + is_wrong
            if kind != "helps":
                told, found = told + 1, found + is_found
            if is_wrong or not is_found:
                sure = [(one.components, one.verdict, round(one.p_value, 4)) for one in result.components]
                print(kind, seed, result.verdict, sorted(plugin.helps | plugin.harms), sure, flush=True)  # noqa: T201  a command
        print(f"{kind}: {wrong} of {made} verdicts wrong, components right in {found} of {told}", flush=True)  # noqa: T201
    return wrong <= WRONG * made and found >= FOUND * told


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--only", choices=KINDS)
    given = parser.parse_args()
    sys.exit(0 if anyio.run(main, given.each, given.cases, given.only) else 1)
