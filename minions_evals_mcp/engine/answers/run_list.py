"""Runs in lines, the newest first, their versions by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class RunFacets:
    """Of a list of runs, the values of each facet with their names and numbers, and how many runs fit."""

    total: int
    facets: dict[str, list[tuple[str, str, int]]]


async def read_facets(engine: Engine, *, only: RunFilter) -> RunFacets:
    """What the list can be narrowed by."""
    return await engine.store.read(partial(_facets, only=only))


def _facets(db: Db, *, only: RunFilter) -> RunFacets:
    facets = page_lists.run_facets(db, only=only)
    names = version_names(db, (value for value, _, _ in facets["version"]))
    facets["version"] = [(value, names.get(value, value), runs) for value, _, runs in facets["version"]]
    return RunFacets(page_lists.count_runs(db, only), facets)


async def read_changes(engine: Engine, lines: Sequence[PageRunLine]) -> dict[str, PairReading]:
    """The verdicts on those runs, each beside the run before it."""
    asked = [run.id for run in lines if run.kind in {"benchmark", "comparison"} and run.state == "completed"]
    return await engine.store.read(partial(changes_beside, asked=asked))
