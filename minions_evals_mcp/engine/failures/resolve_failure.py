"""The record of how a failure was dealt with, written beside its analysis; the run that it belongs to is never touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from minions_evals_mcp.domain.results import EvalFailure
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Saved
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.queries import failure_causes
from minions_evals_mcp.store.rows import update_failure


@dataclass(frozen=True, slots=True)
class Resolution:
    """An eval-failure and what was done about it."""

    id: str
    notes: str


async def resolve_failures(engine: Engine, resolutions: Sequence[Resolution]) -> Saved:
    """Marks the failures as resolved, all or none; raises `NotFoundError` for one that does not exist."""
    return await engine.store.write(partial(_resolve, resolutions=resolutions, at=engine.clock()))


def _resolve(db: Db, *, resolutions: Sequence[Resolution], at: datetime) -> Saved:
    changed = 0
    for resolution in resolutions:
        failure = records.require(db, resolution.id, EvalFailure)
        if failure.fields.resolved_at is not None and failure.fields.resolution_notes == resolution.notes:
            continue
        fields = failure.fields.model_copy(update={"resolved_at": at, "resolution_notes": resolution.notes})
        update_failure(db, replace(failure, fields=fields, updated_at=at))
        append(
            db, Event("eval-failure-resolved", "eval-failure", resolution.id, {"testRunId": fields.test_run_id}), at=at
        )
        failure_causes.resolved(db, resolution.id)
        changed += 1
    return Saved(0, changed, len(resolutions) - changed)
