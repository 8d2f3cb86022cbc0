"""A look at a world before it is used: its servers and tools, its tapes, and consent to what it starts."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from pydantic import JsonValue

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply
from minions_evals_mcp.cli.world.finding import FoundWorld, found_world, vet_world
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import minute
from minions_evals_mcp.domain.worlds import STARTED, WorldServer
from minions_evals_mcp.report.plain import printable
from minions_evals_mcp.world.sessions import new_session, tape_of

CHANGED = 1


async def check(
    world: str,
    /,
    *,
    live: Annotated[bool, Parameter(negative="")] = False,
    yes: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Show the servers and tools of a world, read its tapes, and ask for your consent to the programs that it starts.

    Nothing is started without --live. Your consent holds until a command or a variable changes. Exit 1 if tools have changed.
    Example: minions-evals world check support/desk

    Parameters
    ----------
    world
        A suite file with one world, FILE#ID for one of several, or the id of a world in the store.
    live
        Start the real server of each tape if its command is known, and show how its tools have changed since.
    yes
        Consent to the programs that the world starts as real servers, this time only.
    """
    found = await found_world(world, common=common)
    servers = {name: _server(server, found) for name, server in found.record.fields.servers.items()}
    vet_world(found, yes=yes, live=live)
    changed = await _changed(found) if live else {}
    for name, changes in changed.items():
        servers[name]["changedTools"] = [*changes]
    head = f"{found.record.id}: {len(servers)} server{'' if len(servers) == 1 else 's'}"
    told: Json = {"world": found.record.id, "servers": {**servers}}
    reply(common, told, [head, *(line for name, seen in servers.items() for line in _told(name, seen))])
    return CHANGED if any(changed.values()) else 0


async def _changed(found: FoundWorld) -> dict[str, list[str]]:
    """How the tools of the recorded servers have changed, by the server."""
    from minions_evals_mcp.world.passing import changed_tools  # noqa: PLC0415  the MCP SDK, which only this needs

    session = new_session(found.record.fields, found.base, clock=found.clock)
    try:
        return {
            name: await changed_tools(name, server, session, tape_of(server, found.base).head)
            for name, server in found.record.fields.servers.items()
            if server.mode == "replay" and server.run
        }
    finally:
        session.remove()


def _told(name: str, seen: Json) -> list[str]:
    changes = seen.get("changedTools")
    listed = changes if isinstance(changes, list) else []
    same = ["    its tools match the recording"] if changes == [] else []
    return [_line(name, seen), *same, *(f"    {printable(str(change), 300)}" for change in listed)]


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
        **({"startsAtAMiss": [*server.run]} if server.may_start else {}),
    }  # fmt: skip


def _line(name: str, seen: Json) -> str:
    match seen["mode"]:
        case "mock":
            told = f"mocked: {_listed(seen)}"
        case "replay":
            cut = "; its last line was truncated and is ignored" if seen["isCut"] else ""
            told = f"replayed from {seen['tape']}: {seen['calls']} calls of {seen['server']}, recorded {seen['recordedAt']}{cut}"
            told += (
                f"; a call that was not recorded starts {_words(seen['startsAtAMiss'])}"
                if "startsAtAMiss" in seen
                else ""
            )
        case mode:
            told = f"{mode}: starts {_words(seen['run'])}"
    return f"  {name} is {printable(told, 400)}"


def _words(command: JsonValue) -> str:
    return " ".join(map(str, command if isinstance(command, list) else []))


def _listed(seen: Json) -> str:
    tools = seen["tools"]
    return ", ".join(map(str, tools)) if isinstance(tools, list) else ""
