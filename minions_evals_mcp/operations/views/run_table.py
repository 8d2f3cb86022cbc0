"""The units of a run as rows of a table, from which score cards are made."""

from __future__ import annotations

from collections.abc import AsyncIterator

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.answers.run_table import FALLING, FIGURES, run_rows
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.operations.engine import Engine

__all__ = ["FALLING", "FIGURES", "rows"]


async def rows(engine: Engine, run_id: str) -> AsyncIterator[Json]:
    """The rows of the benchmark-run under that id or key."""
    async for row in run_rows(engine, await find_benchmark_run(engine, run_id)):
        yield row
