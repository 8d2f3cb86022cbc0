"""Taking a benchmark-run as it is: a regression that somebody accepts is what later runs are measured against."""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.engine.conclude.falls import ACCEPTED
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append


async def accept_run(engine: Engine, run_id: str, *, by: str) -> Record[BenchmarkRun]:
    """Keeps that later runs of the benchmark are measured against that one; its own verdict stays as it was.

    Raises `BadInputError` where no run is measured against such a one: of chosen cases, of a comparison, or not concluded.
    """
    return await engine.store.write(partial(_accept, run_id=run_id, by=by, engine=engine))


def _accept(db: Db, *, run_id: str, by: str, engine: Engine) -> Record[BenchmarkRun]:
    run = runs.benchmark_run(db, run_id)
    if run is None or not run.fields.is_standing:
        raise BadInputError(
            f"{run_id} is not a complete run of a benchmark, so it cannot be a baseline.",
            remedy=f"Accept a complete run. {Next('runs', reason='lists them')}.",
        )
    append(db, Event(ACCEPTED, BenchmarkRun.slug, run.id, {"by": by}), at=engine.clock())
    return run
