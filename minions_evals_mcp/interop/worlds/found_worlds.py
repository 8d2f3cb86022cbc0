"""The world that somebody names: of a suite file, or of the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.engine.context import Engine, wall_clock
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.engine.records.save_records import get_record
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.interop.worlds.agreed import kept_world


@frozen_type
class FoundWorld:
    """A world, the name under which consent to it is kept, and the folder that its tapes and commands are looked for in."""

    record: Record[World]
    source: Path
    base: Path
    clock: Callable[[], datetime] = wall_clock


def world_of_file(named: str) -> FoundWorld | None:
    """The world that `FILE` or `FILE#ID` names; None where there is no such file."""
    file, _, ident = named.partition("#")
    path = Path(file)
    return FoundWorld(_in_file(path, ident), path, path.resolve().parent) if path.is_file() else None


async def world_of_store(engine: Engine, named: str, *, base: Path) -> FoundWorld:
    """The world of that id; raises `NotFoundError` where there is none."""
    record = of_type(await get_record(engine, await meant_id(engine, named, "world")), World)
    if record is None:
        raise NotFoundError("world", named)
    return FoundWorld(record, kept_world(engine.config.db, record.id), base)


def _in_file(path: Path, ident: str) -> Record[World]:
    arrivals, _ = read_suite(path, new_id=lambda: "world", now=wall_clock())
    worlds = [world for arrival in arrivals if (world := of_type(arrival.record, World)) is not None]
    chosen = [world for world in worlds if ident in ("", world.id)]
    if len(chosen) == 1:
        return chosen[0]
    if not worlds:
        raise BadInputError(f"{path} has no world.", remedy="Add a record of the type world.")
    names = ", ".join(world.id for world in worlds)
    if ident:
        raise BadInputError(f"{path} has no world {ident!r}.", remedy=f"It has {names}.")
    raise BadInputError(f"{path} has {len(worlds)} worlds: {names}.", remedy=f"Name one: {path}#{worlds[0].id}")
