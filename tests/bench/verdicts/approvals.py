"""How often approvals err over several benchmarks and candidates, through the engine.

`python -m tests.bench.verdicts.approvals [PART] [--share 0.1]`. Each chain is a store with one version in use. After each comparison
an agent tries to approve. Outputs are coin flips from `random.Random(seed)`, one seed a chain, from 0 upwards.

- benchmarks: one equal candidate, compared on 20 benchmarks one after the other
- candidates: 20 equal candidates, each compared once
- mixed: 5 equal candidates, each on 4 benchmarks
- again: one equal candidate, compared 20 times on one benchmark
- better: a candidate that is better by .15 on 100 cases, compared 3 times
- several: the same on three benchmarks of 100 cases, one comparison each
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio

from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.errors import RuleError
from tests.bench.error_budget import COINS, TARGET, Coin
from tests.workshop import benchmark, config_in, fleet, minion, opened, save

CHAINS, BETTER, RATE = 200, 100, 0.7
Step = tuple[str, str]
"""A candidate and a benchmark."""


async def approved_after(steps: Sequence[Step], cases: int, before: float, after: float, *, seed: int) -> int:
    """The number of the comparison after which an agent could approve its candidate; 0 where it never could."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened(config_in(Path(folder), concurrency=1)) as engine:
            await fleet(engine, cases)
            names = sorted({name for _, name in steps})
            await save(engine, [benchmark(name, *(f"c{n}" for n in range(cases))) for name in names])
            versions = ["v1", *dict.fromkeys(candidate for candidate, _ in steps)]
            for number, version in enumerate(versions, 1):
                made = minion(version, "prompt-version", content=version, versionNumber=number, promptId="p")
                await save(engine, made)
            draw = random.Random(seed)  # noqa: S311  a simulation, no secret
            for number, (candidate, name) in enumerate(steps, 1):
                COINS[:] = [Coin(draw, [before, after], cases)]
                await compare_prompt_versions(
                    engine,
                    ComparisonRequest(
                        benchmark_id=name, version_a="v1", version_b=candidate, target=TARGET, fresh=True
                    ),
                )
                asked = ApprovalAsked(prompt_version_ref=candidate, decided_by="agent", decided_by_type="agent")
                try:
                    await approve_prompt_version(engine, asked)
                except RuleError:
                    continue
                return number
    return 0


EQUAL: dict[str, list[Step]] = {
    "benchmarks": [("v2", f"b{number}") for number in range(20)],
    "candidates": [(f"v{number}", "b0") for number in range(2, 22)],
    "mixed": [(f"v{candidate}", f"b{number}") for candidate in range(2, 7) for number in range(4)],
    "again": [("v2", "b0")] * 20,
}
WON: dict[str, list[Step]] = {
    "better": [("v2", "b0")] * 3,
    "several": [("v2", f"b{number}") for number in range(3)],
}


async def measured(parts: Sequence[str], share: float) -> bool:
    """Prints each part's share; whether all hold."""
    well = True
    for part in parts or [*EQUAL, *WON]:
        equal = part in EQUAL
        chains = max(2, round((CHAINS if equal else BETTER) * share))
        rates = (20, RATE, RATE) if equal else (100, 0.6, 0.75)
        steps = EQUAL[part] if equal else WON[part]
        ended = [await approved_after(steps, *rates, seed=seed) for seed in range(chains)]
        approved = sum(map(bool, ended))
        holds = approved <= 0.05 * chains if equal else approved >= 0.8 * chains
        well &= holds
        sys.stdout.write(
            f"{'holds' if holds else 'BROKEN'}  {part}: approved in {approved} of {chains} ({approved / chains:.1%})\n"
        )
        sys.stdout.flush()
    return well


def main() -> int:
    """Measures the parts that are asked for; 0 where all hold."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("parts", nargs="*", choices=[*EQUAL, *WON, []], help="all, if none is named")
    options.add_argument("--share", type=float, default=1.0, help="of the chains")
    asked = options.parse_args()
    return 0 if anyio.run(measured, asked.parts, asked.share) else 1


if __name__ == "__main__":
    sys.exit(main())
