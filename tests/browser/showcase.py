"""A store of what is hard to show: a fall without a threshold, benchmarks that only one kind of run has touched, long cases."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.context import Engine
from tests.workshop import START, SteppingClock, answer, bench, benchmark, case, config_in, opened, save

CLIFF = "support/refunds"
SIZE = 100
BEFORE = (4, 6, 5, 3, 5, 4)
AFTER = (31, 33, 30, 34, 32, 33)
"""Cases that fail in each run: a fall of which no run alone is below a threshold, for there is none."""
PAGES = {
    "cliff benchmark": f"/benchmark?id={CLIFF.replace('/', '%2F')}",
    "cliff run": "/run?id=job7",
    "cliff overview": "/",
    "cliff comparison": "/comparison?before=job6&after=job7",
    "cliff runs": "/runs",
}


async def filled(folder: Path) -> None:
    """The store `evals.db` in that folder."""
    async with opened(config_in(folder)) as engine:
        await cliff(engine)


async def cliff(engine: Engine) -> None:
    """Twelve runs of a benchmark: six at 95 %, then six at 68 %; a few other cases fail in each."""
    idents = [f"c{number:03}" for number in range(SIZE)]
    cases = [case(ident, name=f"Refund {ident[1:]}", expectedOutputs={"output": "good"}) for ident in idents]
    await save(engine, cases, benchmark(CLIFF, *idents, name="Refunds"))
    for number, failing in enumerate((*BEFORE, *AFTER)):
        await run_of(engine, CLIFF, idents, number, {(at + 7 * number) % 40 for at in range(failing)})


async def run_of(engine: Engine, benchmark_id: str, idents: list[str], number: int, failing: set[int]) -> str:
    """One more run of the benchmark, a day after the one before, in which the cases at those places fail."""
    assert isinstance(engine.clock, SteppingClock)
    engine.clock.now = START.replace(month=12, day=1 + number)
    outputs = [
        answer(
            f"{benchmark_id}/{number}/{ident}", ident, "bad" if at in failing else "good", promptVersionRef="refunds@1",
            triggeredAt=iso(engine.clock.now),
        )
        for at, ident in enumerate(idents)
    ]  # fmt: skip
    await save(engine, outputs)
    return (await bench(engine, benchmark_id, prompt_version_ref="refunds@1")).id
