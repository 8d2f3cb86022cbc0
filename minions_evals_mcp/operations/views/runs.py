"""Runs as interfaces list them, and the results of one: the failed first, the lowest score first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, get_args

from minions_evals_mcp.engine.answers import run_changes
from minions_evals_mcp.engine.jobs import kept_job, with_gone
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.report_units import UnitDetail, UnitLine
from minions_evals_mcp.store.queries.run_lines import RunLine as ListedRun
from minions_evals_mcp.store.queries.run_lines import run_lines

RunLine: TypeAlias = ListedRun
PairReading: TypeAlias = run_changes.PairReading
UnitStatus = Literal["passed", "failed", "unscored"]
STATUSES: tuple[UnitStatus, ...] = get_args(UnitStatus)


async def page(engine: Engine, *, oldest: int | None, limit: int) -> tuple[Sequence[RunLine], int, int]:
    """A page of runs, newest first, how many are older than the first of them, itself counted, and how many there are.

    With `oldest` it is of so many runs that were there first: pages go on where they were, whatever was started since.
    """

    def read(db: Db) -> tuple[Sequence[RunLine], int, int]:
        total = jobs.count(db)
        left = total if oldest is None else min(oldest, total)
        return run_lines(db, skip=total - left, limit=limit), left, total

    found, left, total = await engine.store.read(read)
    return [replace(line, job=with_gone(engine, line.job)) for line in found], left, total


async def named(
    engine: Engine, *, limit: int, with_traces: bool = True
) -> tuple[Sequence[RunLine], dict[str, str], dict[str, PairReading]]:
    """The newest runs, what people call their subjects, and how each is beside the whole run before it."""
    wanted = partial(run_changes.named_lines, limit=limit, with_traces=with_traces)
    lines, names, changes = await engine.store.read(wanted)
    return [replace(line, job=with_gone(engine, line.job)) for line in lines], names, changes


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of one unit of a run."""

    status: UnitStatus
    fraction: float | None
    unit: UnitDetail


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """A page of a run's results; `total` counts those of the status that was asked for."""

    job: Job
    results: Sequence[UnitResult]
    total: int


async def results(engine: Engine, run_id: str, *, status: str, offset: int, limit: int) -> ResultsPage:
    """The results of the run under that id or key, of one status where it is named."""
    return await engine.store.read(partial(_results, run_id=run_id, status=status, offset=offset, limit=limit))


def _results(db: Db, *, run_id: str, status: str, offset: int, limit: int) -> ResultsPage:
    job = kept_job(db, run_id)
    wanted = [line for line in report_units.unit_lines(db, job.id) if status in {"", _status(line)}]
    page_shown = wanted[offset : offset + limit]
    details = report_units.unit_details(db, job.id, [line.place for line in page_shown])
    results_shown = [
        UnitResult(_status(line), line.fraction, detail) for line, detail in zip(page_shown, details, strict=True)
    ]
    return ResultsPage(job, results_shown, len(wanted))


def _status(line: UnitLine) -> UnitStatus:
    if line.passed is None:
        return "unscored"
    return "passed" if line.passed else "failed"
