"""Runs in lines, the newest first, their versions by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from minions_evals_mcp.engine.answers.names import version_names
from minions_evals_mcp.engine.answers.pair_reading import PairReading, read_pair
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store import runs as benchmark_runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries.pages import page_lists, run_cases
from minions_evals_mcp.store.queries.pages.page_lists import RunLine
from minions_evals_mcp.store.rows import WHOLE

READ = 20_000
"""Outputs that a list of runs reads at most for its verdicts."""


async def read_runs(
    engine: Engine, *, skip: int, limit: int, states: Sequence[str] = (), subject_id: str | None = None
) -> list[RunLine]:
    """A page of the runs, of those states and of that subject where they are given."""
    return await engine.store.read(partial(_runs, skip=skip, limit=limit, states=states, subject_id=subject_id))


def changes_beside(db: Db, runs: Iterable[tuple[str, str]]) -> dict[str, PairReading]:
    """The verdict on each concluded run (id, benchmark) beside the whole run before it, newest first, until much is read.

    A run beyond that has none here; its own page reads it.
    """
    found: dict[str, PairReading] = {}
    read = 0
    for run_id, benchmark_id in runs:
        outputs = benchmark_runs.outputs_of(db, run_id)
        if outputs is None:
            continue
        read += outputs
        if read > READ:
            break
        previous, _ = run_cases.beside(db, run_id, benchmark_id, whole=WHOLE)
        if previous is not None:
            found[run_id] = read_pair(db, previous, run_id)
    return found


def _runs(db: Db, *, skip: int, limit: int, states: Sequence[str], subject_id: str | None) -> list[RunLine]:
    lines = page_lists.run_lines(db, skip=skip, limit=limit, states=states, subject_id=subject_id)
    names = version_names(db, (run.version or None for run in lines))
    return [replace(run, version=names.get(run.version, run.version)) for run in lines]


async def read_changes(engine: Engine, lines: Sequence[RunLine]) -> dict[str, PairReading]:
    """The verdicts on those runs, each beside the run before it."""
    asked = [(run.id, run.subject_id) for run in lines if run.kind == "benchmark" and run.state == "completed"]
    return await engine.store.read(partial(changes_beside, runs=asked))
