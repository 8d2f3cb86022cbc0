"""A comparison that looks after every case and stops once it is settled, without erring more often than one look."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.looks import settled
from minions_evals_mcp.engine.pipeline import Progress
from minions_evals_mcp.engine.run_benchmark import StartedCases


async def run_until_settled(engine: Engine, sides: Sequence[StartedCases], progress: Progress) -> None:
    """Runs both sides in step, a handful of cases at a time, until the passes decide or the cases end."""
    a, b = (side.job for side in sides)
    planned, reached = a.total, 0
    while reached < planned:
        reached = min(planned, reached + engine.config.concurrency)
        for side in sides:
            await side.advance(reached, progress)
        if await engine.store.read(lambda db: settled(db, a.id, b.id, planned=planned)) is not None:
            break
    for side in sides:
        await side.settle(f"the comparison was settled after {reached} cases")
