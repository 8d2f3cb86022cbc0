"""Runs in lines, the newest first, their versions by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from minions_evals_mcp.engine.answers.names import version_names
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading
from minions_evals_mcp.engine.answers.run_changes import changes_beside
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages import page_lists
from minions_evals_mcp.store.queries.pages.page_lists import ALL_RUNS, PageRunLine, RunFilter


async def read_runs(engine: Engine, *, skip: int, limit: int, only: RunFilter = ALL_RUNS) -> list[PageRunLine]:
    """A page of the runs that fit."""
    return await engine.store.read(partial(_runs, skip=skip, limit=limit, only=only))


def _runs(db: Db, *, skip: int, limit: int, only: RunFilter) -> list[PageRunLine]:
    lines = page_lists.run_lines(db, skip=skip, limit=limit, only=only)
    names = version_names(db, (run.version or None for run in lines))
    return [replace(run, version=names.get(run.version, run.version)) for run in lines]


async def read_changes(engine: Engine, lines: Sequence[PageRunLine]) -> dict[str, PairReading]:
    """The verdicts on those runs, each beside the run before it."""
    asked = [run.id for run in lines if run.kind in {"benchmark", "comparison"} and run.state == "completed"]
    return await engine.store.read(partial(changes_beside, asked=asked))
