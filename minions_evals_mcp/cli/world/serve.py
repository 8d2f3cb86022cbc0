"""A world's server over stdio, for an agent or an MCP host that is pointed at it."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Annotated

from cyclopts import Parameter, validators

from minions_evals_mcp.cli.session import DEFAULTS, Common
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.cli.world.finding import found_world, vet_world
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.world.sessions import new_session


async def serve(
    world: str,
    /,
    *,
    server: str | None = None,
    http: Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=65535))] = None,
    yes: Annotated[bool, Parameter(negative="")] = False,
    common: Common = DEFAULTS,
) -> int:
    """Serve one server of a world over stdio or HTTP, in place of the real MCP server.

    Each start has a fresh state. The agent's calls are printed to standard error at the end.
    Example: minions-evals world serve worlds.yaml --server shop

    Parameters
    ----------
    world
        A suite file with one world, FILE#ID for one of several, or the id of a world in the store.
    server
        Which of its servers (default: the only one).
    http
        Serve over streamable HTTP on this port of this machine instead of stdio. 0 takes any free port.
    yes
        Consent to the programs that the world starts as real servers.
    """
    found = await found_world(world, common=common)
    names = [*found.record.fields.servers]
    if server is None and len(names) > 1:
        raise BadInputError(f"{found.record.id} has the servers {', '.join(names)}.", remedy="Name one with --server.")
    vet_world(found, yes=yes)
    from minions_evals_mcp.world import serving  # noqa: PLC0415  the MCP SDK, which only this needs

    signal.signal(signal.SIGTERM, _end)  # so that the folder of the state goes, too
    session = new_session(found.record.fields, found.base, clock=found.clock)
    try:
        named = server or names[0]
        if http is None:
            await serving.serve(session, named)
        else:
            await serving.serve_http(session, named, port=http, ready=_ready)
        entries = session.entries()
    finally:
        session.remove()
    misses = [entry for entry in entries if entry.answer.miss]
    tell(f"{len(entries)} calls, {len(misses)} of them missed\n", aside=True)
    for entry in misses:
        tell(f"  missed: {entry.answer.miss}\n", aside=True)
    return 0


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _ready(address: str) -> None:
    tell(f"Serving at {address}\n", aside=True)
