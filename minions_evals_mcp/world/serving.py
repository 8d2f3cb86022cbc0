"""A world's server as an MCP server: it lists the tools of the mode, and answers calls through the unit's session."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from minions_evals_mcp.bounded_connections import BoundedServer, own_bounds
from minions_evals_mcp.domain.worlds import STARTED
from minions_evals_mcp.errors import NotFoundError, ungrouped
from minions_evals_mcp.world.attacking import HONEYPOT_TEXT, in_description
from minions_evals_mcp.world.calls import WorldCall
from minions_evals_mcp.world.passing import LateServer, RealServer, real_server
from minions_evals_mcp.world.sessions import WorldSession

LOOPBACK, CLOSING_S = "127.0.0.1", 1
UNKNOWN_TOOL = types.INVALID_PARAMS
NO_SCHEMA = {"type": "object"}
HONEYPOT_SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}, "content": {"type": "string"}}}


def mcp_server(
    session: WorldSession, name: str, real: RealServer | None = None, late: LateServer | None = None
) -> Server[Any]:
    """The MCP server that answers for the world's server of that name; `late` is for what is not on its tape."""

    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        session.reach()
        return types.ListToolsResult(tools=[*_tools(session, name, real)])

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        session.reach()
        answer = await session.answer(WorldCall(name, params.name, params.arguments or {}), passing=real or late)
        if answer.delay_ms:
            await anyio.sleep(answer.delay_ms / 1000)
        if answer.protocol_error is not None:
            raise MCPError(UNKNOWN_TOOL if answer.source == "none" else types.INTERNAL_ERROR, answer.protocol_error)
        return types.CallToolResult.model_validate(answer.result)

    return Server(name, version=_version(session, name), on_list_tools=list_tools, on_call_tool=call_tool)


def _version(session: WorldSession, name: str) -> str:
    return session.tape(name).head.version if session.world.servers[name].mode == "replay" else ""


def _tools(session: WorldSession, name: str, real: RealServer | None) -> list[types.Tool]:
    tools, plant = _own_tools(session, name, real), session.planted
    if plant is not None or session.world.faults:  # agents' clients would refuse what these leave of a result
        tools = [tool.model_copy(update={"output_schema": None}) for tool in tools]
    if plant is None:
        return tools
    told = [
        tool.model_copy(update={"description": in_description(plant, tool.name, tool.description or "")})
        for tool in tools
    ]
    return [*told, types.Tool(name=plant.honeypot, description=HONEYPOT_TEXT, input_schema=HONEYPOT_SCHEMA)]


def _own_tools(session: WorldSession, name: str, real: RealServer | None) -> list[types.Tool]:
    if real is not None:
        return [*real.tools]
    server = session.world.servers[name]
    if server.mode == "replay":
        return [types.Tool.model_validate(tool) for tool in session.tape(name).head.tools]
    return [
        types.Tool(name=tool.name, description=tool.description, input_schema=tool.input_schema or NO_SCHEMA)
        for tool in server.tools
    ]


async def serve(session: WorldSession, name: str) -> None:
    """Serves that server of the world over stdio until the agent closes it."""
    session.reach()
    async with opened_server(session, name) as served, stdio_server() as streams:
        await served.run(*streams, served.create_initialization_options())


async def serve_http(session: WorldSession, name: str, *, port: int, ready: Callable[[str], None]) -> None:
    """Serves it over streamable HTTP on this machine until the process is told to end; `ready` is told the address."""
    async with opened_server(session, name) as served:
        with socket.create_server((LOOPBACK, port)) as bound:
            ready(f"http://{LOOPBACK}:{bound.getsockname()[1]}/mcp")
            await BoundedServer(served.streamable_http_app(), own_bounds(), closing_s=CLOSING_S).serve([bound])


@asynccontextmanager
async def opened_server(session: WorldSession, name: str) -> AsyncGenerator[Server[Any]]:
    """The MCP server, with the real one behind it where the mode has one; raises `NotFoundError` for an unknown name."""
    server = session.world.servers.get(name)
    if server is None:
        raise NotFoundError("server of this world", name, remedy=f"It has {', '.join(session.world.servers)}.")
    start = partial(
        real_server,
        name,
        server,
        session.base,
        clock=session.clock,
        holdings=session.holdings,
        lost=partial(session.lose, name),
    )
    if server.mode in STARTED:
        async with start() as real:
            yield mcp_server(session, name, real)
    elif server.may_start:
        with ungrouped():
            async with anyio.create_task_group() as tasks:
                yield mcp_server(session, name, late=LateServer(start, tasks))
                tasks.cancel_scope.cancel()
    else:
        yield mcp_server(session, name)
