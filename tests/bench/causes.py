"""What it costs to tell the causes of a run with many failures: CPU for the run, p95 of a read, memory.

python -m tests.bench.causes [FAILURES ...]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import tracemalloc
from functools import partial
from pathlib import Path

import anyio
from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.queries.failure_causes import causes_of_run
from tests.workshop import answer, bench, benchmark, case, config_in, opened, save

WHY = ("order not found", "rate limit", "permission denied", "schema mismatch", "timeout of the warehouse")
PAGE, READS = 1_000, 20


def log(number: int) -> list[JsonValue]:
    """One call that failed, of one of three tools and for one of five reasons."""
    tool = random.Random(number).choice(("get_order", "refund", "search"))  # noqa: S311  a variation
    return [{"tool": tool, "arguments": {"id": f"O-{number}"}, "error": f"{WHY[number % 5]} for O-{number}"}]


async def failing_run(engine: Engine, count: int) -> str:
    """A run in which every case fails."""
    for start in range(0, count, PAGE):
        page = range(start, min(start + PAGE, count))
        asked: dict[int, JsonValue] = {n: {"q": f"Where is O-{n}?"} for n in page}
        await save(
            engine, [case(f"c{n}", inputs=asked[n], expectedOutputs={"output": f"It comes on day {n}."}) for n in page]
        )
        await save(engine, [answer(f"a{n}", f"c{n}", "I lost it.", inputs=asked[n], toolCallsLog=log(n)) for n in page])
    await save(engine, benchmark("b", *(f"c{n}" for n in range(count))))
    return (await bench(engine, "b")).id


async def measure(count: int) -> None:
    """Prints the figures of a run with so many failures."""
    with tempfile.TemporaryDirectory() as folder:
        async with opened(config_in(Path(folder))) as engine:
            begun = time.process_time()
            run_id = await failing_run(engine, count)
            whole = time.process_time() - begun
            reads: list[float] = []
            for _ in range(READS):
                begun = time.process_time()
                await engine.store.read(partial(causes_of_run, run_id=run_id))
                reads.append(time.process_time() - begun)
            tracemalloc.start()
            causes = await engine.store.read(partial(causes_of_run, run_id=run_id))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            reads.sort()
            print(  # noqa: T201  the figures are what the command is for
                f"{count} failures, {len(causes.groups)} causes: {1000 * whole / count:.2f} ms CPU a case,"
                f" a read {1000 * reads[READS // 2]:.0f} ms (p95 {1000 * reads[-2]:.0f} ms), {peak / 1e6:.1f} MB at most"
            )


if __name__ == "__main__":
    for given in map(int, sys.argv[1:] or ("1000", "10000")):
        anyio.run(measure, given)
