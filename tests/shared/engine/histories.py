"""Random histories of benchmarks: levels that come and go, noise, flaky cases, outputs that are missing, versions that change."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.context import Engine
from tests.workshop import START, SteppingClock, answer, bench, benchmark, case, save

CASES = 24
FEWEST, MOST = 4, 9
"""Runs of a history."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One run of a history: its version, the cases that fail, and those without an output."""

    version: str
    failing: frozenset[int]
    missing: frozenset[int]


def history(seed: int) -> list[Drawn]:
    """The runs of that history, oldest first."""
    draw = Random(seed)  # noqa: S311  reproducible, no secret
    length = draw.randint(FEWEST, MOST)
    order = draw.sample(range(CASES), CASES)
    change = draw.randint(2, length - 1) if draw.random() < 0.7 else length
    if draw.random() < 0.5:
        length = min(length, change + 1)
    back = draw.randint(change + 1, length) if draw.random() < 0.3 and change + 1 < length else length
    low, high = sorted((draw.randint(0, 4), draw.randint(3, 22)))
    if draw.random() < 0.3:
        low, high = high, low
    flaky = draw.sample(range(CASES), draw.choice((0, 0, 1, 3)))
    versioned = draw.random() < 0.4
    runs: list[Drawn] = []
    for at in range(length):
        inside = change <= at < back
        failing = set(order[: high if inside else low])
        failing ^= {one for one in flaky if draw.random() < 0.5}
        failing ^= {one for one in range(CASES) if draw.random() < 0.02}
        missing = {draw.randrange(CASES)} if draw.random() < 0.15 else set[int]()
        runs.append(Drawn("p@2" if versioned and inside else "p@1", frozenset(failing), frozenset(missing)))
    return runs


async def recorded(engine: Engine, seed: int) -> list[str]:
    """Records that history under the benchmark `history/SEED` and names its runs, oldest first."""
    assert isinstance(engine.clock, SteppingClock)
    name = f"history/{seed}"
    idents = [f"h{seed}-{number:02}" for number in range(CASES)]
    cases = [case(ident, expectedOutputs={"output": "good"}) for ident in idents]
    await save(engine, cases, benchmark(name, *idents, name=f"History {seed}"))
    made: list[str] = []
    for day, run in enumerate(history(seed)):
        engine.clock.now = START.replace(month=12, day=1 + day)
        outputs = [
            answer(
                f"{name}/{day}/{ident}", ident, "bad" if at in run.failing else "good",
                promptVersionRef=f"{run.version}/{day}" if at in run.missing else run.version, triggeredAt=iso(engine.clock.now),
            )
            for at, ident in enumerate(idents)
        ]  # fmt: skip
        await save(engine, outputs)
        made.append((await bench(engine, name, prompt_version_ref=run.version)).id)
    return made
