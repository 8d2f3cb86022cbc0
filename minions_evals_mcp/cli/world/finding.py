"""The world that a command is about, with the operator's consent to what it starts."""

from __future__ import annotations

from minions_evals_mcp.cli.run.agreeing import vet_consent
from minions_evals_mcp.cli.session import Common, session
from minions_evals_mcp.configured import world_folder
from minions_evals_mcp.interop.worlds.agreed import named_by_world
from minions_evals_mcp.interop.worlds.found_worlds import FoundWorld, world_of_file, world_of_store
from minions_evals_mcp.settings import settings_here


async def found_world(named: str, *, common: Common) -> FoundWorld:
    """The world that `FILE`, `FILE#ID` or an id of the store names."""
    found = world_of_file(named)
    if found is not None:
        return found
    async with session(common) as engine:
        return await world_of_store(engine, named, base=world_folder(settings_here()))


def vet_world(found: FoundWorld, *, yes: bool, live: bool = False) -> None:
    """Asks for consent to the real servers that the world starts; with `live` to those behind its tapes, too."""
    vet_consent(found.source, named_by_world(found.record.fields, found.base, recorded=live), yes=yes)
