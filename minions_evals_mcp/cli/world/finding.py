"""The world that a command is about: of a suite file or of the store, with the operator's consent to what it starts."""

from __future__ import annotations

from pathlib import Path

from minions_evals_mcp.cli.run.agreeing import vet_consent
from minions_evals_mcp.cli.session import Common, db_path, session
from minions_evals_mcp.configured import world_folder
from minions_evals_mcp.domain.records import Record, of_type
from minions_evals_mcp.domain.worlds.definition import World
from minions_evals_mcp.engine.context import wall_clock
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.engine.records.save_records import get_record
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.interop.agreed import kept_world, named_by_world
from minions_evals_mcp.interop.suite import read_suite
from minions_evals_mcp.settings import settings_here


@frozen_type
class FoundWorld:
    """A world, where it was found, and the folder that its tapes and commands are looked for in."""

    record: Record[World]
    source: Path
    base: Path


async def found_world(named: str, *, common: Common) -> FoundWorld:
    """The world that `FILE`, `FILE#ID` or an id of the store names."""
    found = _of_file(named)
    if found is not None:
        return found
    async with session(common) as engine:
        record = of_type(await get_record(engine, await meant_id(engine, named, "world")), World)
    if record is None:
        raise NotFoundError("world", named)
    return FoundWorld(record, kept_world(db_path(common, settings_here()), record.id), world_folder(settings_here()))


def _of_file(named: str) -> FoundWorld | None:
    file, _, ident = named.partition("#")
    path = Path(file)
    return FoundWorld(_in_file(path, ident), path, path.resolve().parent) if path.is_file() else None


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


def vet_world(found: FoundWorld, *, yes: bool) -> None:
    """Asks for consent to the real servers that the world starts."""
    vet_consent(found.source, named_by_world(found.record.fields, found.base), yes=yes)
