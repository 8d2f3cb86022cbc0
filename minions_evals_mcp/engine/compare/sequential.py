"""A comparison that looks after every case and stops once it is settled, without erring more often than one look."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.results import SETTLED
from minions_evals_mcp.engine.conclude.looks import settled
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import StartedCases


async def run_until_settled(
    engine: Engine, sides: Sequence[StartedCases], progress: Progress, *, level: float
) -> None:  # fmt: skip
    """Runs both sides in step, a handful of cases at a time, until the passes decide at that error or the cases end."""
    a, b = (side.job for side in sides)
    planned, reached, settled_at = a.total, 0, None
    left = [side for side in sides if side.job.state != "completed"]  # one may have ended before a kill
    while reached < planned and settled_at is None:
        reached = min(planned, reached + engine.config.concurrency)
        for side in left:
            await side.advance(reached, progress)
        settled_at = await engine.store.read(lambda db: settled(db, a.id, b.id, planned=planned, level=level))
    for side in left:
        await side.settle(f"{SETTLED} {settled_at.seen if settled_at else reached} cases")
