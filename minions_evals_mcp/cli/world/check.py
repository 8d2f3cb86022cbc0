"""A look at a world before it is used: its servers and tools, its tapes, and consent to what it starts."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply
from minions_evals_mcp.cli.world.finding import FoundWorld, found_world, vet_world
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import minute
from minions_evals_mcp.domain.worlds import STARTED, WorldServer
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.world.sessions import tape_of


async def check(
    world: str,
    /,
    *,
    yes: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Show the servers and tools of a world, read its tapes, and ask for your consent to the programs that it starts.

    Nothing is started. Your consent holds until a command or a variable changes.
    Example: minions-evals world check support/desk

    Parameters
    ----------
    world
        A suite file with one world, FILE#ID for one of several, or the id of a world in the store.
    yes
        Agree to the programs that the world starts as real servers, this time only.
    """
    found = await found_world(world, common=common)
    servers = {name: _server(server, found) for name, server in found.record.fields.servers.items()}
    vet_world(found, yes=yes)
    head = f"{found.record.id}: {len(servers)} server{'' if len(servers) == 1 else 's'}"
    told: Json = {"world": found.record.id, "servers": {**servers}}
    return reply(common, told, [head, *(_line(name, seen) for name, seen in servers.items())])


def _server(server: WorldServer, found: FoundWorld) -> Json:
    if server.mode in STARTED:
        return {"mode": server.mode, "run": [*server.run]}
    if server.mode == "mock":
        return {"mode": "mock", "tools": [tool.name for tool in server.tools]}
    tape = tape_of(server, found.base)
    at = tape.head.recorded_at
    return {
        "mode": "replay", "tape": server.tape, "calls": len(tape.calls), "server": f"{tape.head.name} {tape.head.version}".strip(),
        "recordedAt": None if at is None else minute(at), "isCut": tape.is_cut,
        "tools": [str(tool.get("name")) for tool in tape.head.tools],
    }  # fmt: skip


def _line(name: str, seen: Json) -> str:
    match seen["mode"]:
        case "mock":
            told = f"mocked: {_listed(seen)}"
        case "replay":
            cut = "; its last line was cut short and is left out" if seen["isCut"] else ""
            told = f"replayed from {seen['tape']}: {seen['calls']} calls of {seen['server']}, recorded {seen['recordedAt']}{cut}"
        case mode:
            told = f"{mode}: starts {' '.join(map(str, seen['run'] if isinstance(seen['run'], list) else []))}"
    return f"  {name} is {printable(told, 400)}"


def _listed(seen: Json) -> str:
    tools = seen["tools"]
    return ", ".join(map(str, tools)) if isinstance(tools, list) else ""
