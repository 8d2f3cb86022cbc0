"""The files that a world is read from, as part of what an output was made from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from minions_evals_mcp.confined_paths import confined_path
from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.domain.worlds import WorldServer
from minions_evals_mcp.targets.code_files import content_digest
from minions_evals_mcp.world.holdings import paths_in


def files_digest(world: World, base: Path) -> str:
    """Digest of the contents of every file that a world names: its database, its folder, its tapes, the code of its servers.

    A tape that is being recorded is not covered, for it is what the run writes. Empty where the world names no file.
    """
    named: Json = {path.as_posix(): content_digest(base / path) for path in _named(world, base)}
    return digest(named) if named else ""


def _named(world: World, base: Path) -> Iterator[Path]:
    if world.database is not None and world.database.file is not None:
        yield Path(confined_path(world.database.file, field="database.file"))
    if world.folder is not None and world.folder.source is not None:
        source = Path(confined_path(world.folder.source, field="folder.source"))
        yield from (source / path for path in paths_in(base / source))
    for server in world.servers.values():
        if server.mode == "replay" and server.tape is not None:
            yield Path(confined_path(server.tape, field="tape"))
        if server.may_start:
            yield from _code(server, base)


def _code(server: WorldServer, base: Path) -> Iterator[Path]:
    """The arguments of the server's command that are files of the project."""
    for argument in server.run:
        path = base / argument
        if len(argument) < 1000 and path.resolve().is_relative_to(base.resolve()) and path.is_file():
            yield Path(argument)
