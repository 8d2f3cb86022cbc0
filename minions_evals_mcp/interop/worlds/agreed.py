"""What the operator agreed to: for each file or world that names programs, code or addresses, the digest of what it named."""

from __future__ import annotations

import json
from pathlib import Path

from platformdirs import user_state_path

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.interop.reached_resources import NamedResources, resolved_command
from minions_evals_mcp.private_files import read_private, write_private


def agreed_file() -> Path:
    """The file that holds what was agreed to, by the path of each file that asked."""
    return user_state_path("minions-evals") / "agreed-projects.json"


def has_agreed(source: Path, named: NamedResources) -> bool:
    """Whether the operator agreed to that source, when it named just this."""
    return not named or _agreed().get(str(source.resolve())) == named.digest()


def keep_agreed(source: Path, named: NamedResources) -> None:
    """Keeps that the operator agreed."""
    file = agreed_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_private(file, json.dumps(_agreed() | {str(source.resolve()): named.digest()}, indent=1))


def _agreed() -> dict[str, str]:
    try:
        agreed: object = json.loads(read_private(agreed_file()))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in agreed.items()} if isinstance(agreed, dict) else {}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  JSON


def named_by_world(world: World, base: Path, *, recorded: bool = False) -> NamedResources:
    """What a world starts, and hands on of the environment; with `recorded` also the servers behind its tapes."""
    started = [
        server
        for _, server in sorted(world.servers.items())
        if server.may_start or (recorded and server.mode == "replay" and server.run)
    ]
    return NamedResources(
        commands=tuple(resolved_command(server.run, base) for server in started),
        variables=tuple(sorted({variable for server in started for variable in server.env})),
    )


def kept_world(db: Path, ident: str) -> Path:
    """The name under which consent to a world of a store is kept."""
    return Path(f"{db}#{ident}")


def has_agreed_to_world(db: Path, base: Path, ident: str, world: World) -> bool:
    """Whether the operator agreed to what the world of that store starts."""
    return has_agreed(kept_world(db, ident), named_by_world(world, base))
