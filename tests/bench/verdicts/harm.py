"""How often true harm is called so, whatever was tried before, through the engine.

`python -m tests.bench.verdicts.harm [--runs 200]`. A version is worse by .20 on 50 cases whose rates are Beta(8, 1), one trial each,
no groups. It is compared as the 1st, the 3rd and the 10th candidate against one version in use; the others are equal to it. The
outputs of the worse one are the same draws at each place, so that only the level can make a difference. Seeds from 0 upwards.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

import anyio

from minions_evals_mcp.domain.results import PromptComparison
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.store import records
from tests.bench.error_budget import COINS, TARGET, Coin
from tests.workshop import benchmark, config_in, fleet, minion, opened, save

CASES, HARM = 50, 0.2
PLACES = (1, 3, 10)
LEAST, APART = 0.55, 0.03


async def verdict_at(place: int, *, seed: int) -> str:
    """The verdict on the worse version, compared as the candidate of that number."""
    draw = random.Random(seed)  # noqa: S311  a simulation, no secret
    rates = [draw.betavariate(8, 1) for _ in range(CASES)]
    with tempfile.TemporaryDirectory() as folder:
        async with opened(config_in(Path(folder), concurrency=1)) as engine:
            await fleet(engine, CASES)
            await save(engine, [benchmark("b", *(f"c{n}" for n in range(CASES)))])
            for number in range(1, place + 2):
                made = minion(f"v{number}", "prompt-version", content=f"{number}", versionNumber=number, promptId="p")
                await save(engine, made)
            verdict = ""
            for number in range(1, place + 1):
                worse = number == place
                luck = random.Random(f"{seed}/{'worse' if worse else number}")  # noqa: S311  as above
                after = [max(0.0, rate - HARM) for rate in rates] if worse else rates
                COINS[:] = [Coin(luck, [*rates, *after])]
                asked = ComparisonRequest(
                    benchmark_id="b", version_a="v1", version_b=f"v{number + 1}", target=TARGET, fresh=True
                )
                job = await compare_prompt_versions(engine, asked)
                assert job is not None
                found = await engine.store.read(lambda db, ident=job.id: records.require(db, ident, PromptComparison))
                verdict = found.fields.verdict
            return verdict


async def measured(runs: int) -> bool:
    """Prints the share that is called regressed at each place; whether all hold."""
    shares: list[float] = []
    for place in PLACES:
        verdicts = [await verdict_at(place, seed=seed) for seed in range(runs)]
        shares.append(verdicts.count("regressed") / runs)
        sys.stdout.write(f"candidate {place}: regressed in {shares[-1]:.3f} of {runs}\n")
        sys.stdout.flush()
    holds = min(shares) >= LEAST and max(shares) - min(shares) <= APART
    sys.stdout.write(f"{'holds' if holds else 'BROKEN'}: at least {LEAST}, apart by at most {APART}\n")
    return holds


def main() -> int:
    """Measures; 0 where it holds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=200)
    return 0 if anyio.run(measured, options.parse_args().runs) else 1


if __name__ == "__main__":
    sys.exit(main())
