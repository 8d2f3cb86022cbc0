"""Save records: definitions, or the resolutions of failures, all or nothing. One is hidden, and found as it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.cases import baselines
from minions_evals_mcp.engine.failures import resolve_failure
from minions_evals_mcp.engine.records import save_records as saving
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store import records

Arrival: TypeAlias = saving.Arrival
Saved: TypeAlias = saving.Saved
ResumedRuns: TypeAlias = baselines.WentOn
Resolution: TypeAlias = resolve_failure.Resolution


async def numbered(engine: Engine, wires: Sequence[Json]) -> tuple[list[Json], list[Relation]]:
    """The records with a number for each prompt version that has none, and the relations that follow from it."""
    return await baselines.numbered_versions(engine, wires)


async def run(
    engine: Engine, arrivals: Sequence[Arrival], relations: Sequence[Relation] = (), *, by: str
) -> tuple[Saved, ResumedRuns]:
    """What was written, and the runs that went on because an expected output came."""
    return await baselines.save_with_baselines(engine, arrivals, relations, by=by)


async def resolve(engine: Engine, resolutions: Sequence[Resolution]) -> Saved:
    """The failures that are marked as resolved."""
    return await resolve_failure.resolve_failures(engine, resolutions)


async def stored(engine: Engine, ident: str) -> Record[Fields] | None:
    """The definition that is kept under that id, a hidden one too."""
    return await engine.store.read(lambda db: records.minion(db, ident))


async def found(engine: Engine, ident: str) -> Record[Fields]:
    """The record under that id; raises `NotFoundError`."""
    return await saving.get_record(engine, ident)


async def hide(engine: Engine, ident: str) -> Record[Fields]:
    """The record, hidden now; saving it again brings it back."""
    return await saving.delete_record(engine, ident)
