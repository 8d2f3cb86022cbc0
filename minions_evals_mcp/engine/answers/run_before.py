"""The run before a run, and what changed since: on its page and in its report."""

from __future__ import annotations

from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.domain.values import Timestamp, Value
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.readings.pair_reading import PairReading, read_beside
from minions_evals_mcp.engine.conclude.setup import RunSetup, changes, changes_of_shared, outputs_exchanged, setup_of
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db


class RunBefore(Value):
    """The run that a run is compared with, and what is other than in it."""

    run_id: str
    at: Timestamp
    score: float
    reading: PairReading
    changed: tuple[str, ...]


def read_before(db: Db, run_id: str) -> RunBefore | None:
    """The run that this one is compared with; None where there is none, or this one is not concluded."""
    reading = read_beside(db, run_id)
    if reading is None:
        return None
    then, now = (records.require(db, ident, BenchmarkRun) for ident in (reading.before, run_id))
    fields = then.fields
    return RunBefore(
        run_id=then.id,
        at=fields.ran_at,
        score=fields.overall_score,
        reading=reading,
        changed=_changed(db, then, now),
    )


def _changed(db: Db, then: Record[BenchmarkRun], now: Record[BenchmarkRun]) -> tuple[str, ...]:
    seen = changes(_setup(db, then), _setup(db, now))
    if now.fields.selection is not None:
        seen = changes_of_shared(db, then.id, now.id, seen)
    return seen or outputs_exchanged(db, then.id, now.id)


def _setup(db: Db, run: Record[BenchmarkRun]) -> RunSetup:
    """Returns what the run was made and judged with, its version by name."""
    setup = setup_of(db, run.id, run.fields)
    return setup.model_copy(update={"version": named(version_names(db, [setup.version]), setup.version) or None})
