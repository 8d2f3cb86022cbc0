"""Whether chance wins A/B tests: python -m tests.bench.ab_null [tests for each criterion] [cases].

Branches that ask the same model for the same thing, through the engine: every answer, its tokens and its time are drawn by a
scripted client, and the call that is started first in a case waits longest, as on a cold connection. No time passes: the
latencies are told, not slept. A test errs where it calls its winner supported; with 200 tests at most 18 may, per criterion.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import get_args

import anyio

from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, InlineBranch, run_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.scoring.ab import Criterion
from tests.shared.engine.ab_workshop import Words
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.workshop import Json, benchmark, config_in, minion, opened, save

TESTS, CASES, ALLOWED = 200, 20, 18 / 200
BRANCHES = tuple(InlineBranch(name=name, provider="openai", model="gpt-4o", is_control=name == "a") for name in "abc")


async def supported(engine: Engine, criterion: Criterion) -> bool:
    """Whether one such test calls its winner supported."""
    request = AbTestRequest(benchmark_id="b", branches=BRANCHES, winner_criteria=criterion)
    return (await run_ab_test(engine, request)).supported is True


async def errors(tests: int, cases: int, criteria: Sequence[Criterion]) -> Counter[str]:
    """How often each criterion errs."""
    found: Counter[str] = Counter()
    for criterion in criteria:
        sys.stderr.write(f"{criterion}\n")
        for number in range(tests):
            found[criterion] += await _one(number, cases, criterion)
    return found


async def _one(seed: int, cases: int, criterion: Criterion) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        async with opened(config_in(Path(folder))) as engine:
            engine.models = Scripted(Drawn(f"{criterion} {seed}", every=len(BRANCHES)))
            engine.opened_embedder = Words()
            idents = [f"c{number}" for number in range(cases)]
            wanted: Json = {"output": "happy am"}
            await save(
                engine,
                [
                    minion(ident, "test-case", name=ident, inputs={"q": ident}, expectedOutputs=wanted)
                    for ident in idents
                ],
                benchmark("b", *idents),
            )
            return await supported(engine, criterion)


async def main(tests: int, cases: int) -> None:
    """Writes how often each criterion errs; exit 1 where one errs too often."""
    found = await errors(tests, cases, get_args(Criterion))
    for criterion, number in found.items():
        sys.stdout.write(f"{criterion:<13} supported in {number} of {tests} tests of identical branches\n")
    if any(number > ALLOWED * tests for number in found.values()):
        sys.exit(1)


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    anyio.run(partial(main, given[0] if given else TESTS, given[1] if len(given) > 1 else CASES))
