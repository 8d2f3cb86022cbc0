"""How an agent that is no program of ours reaches the servers of a unit's world: by an address, or through the SDK's client."""

from __future__ import annotations

import re
import secrets
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from mcp import Client
from mcp.shared.exceptions import MCPError

from minions_evals_mcp.bounded_connections import BoundedServer, own_bounds
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.errors import ungrouped
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.world.calls import CallAnswer, result_text
from minions_evals_mcp.world.passing import all_tools, protocol_error
from minions_evals_mcp.world.serving import CLOSING_S, LOOPBACK, opened_server
from minions_evals_mcp.world.sessions import WorldSession

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The names that models may call a tool by."""


@asynccontextmanager
async def served_over_http(session: WorldSession) -> AsyncGenerator[dict[str, str]]:
    """The addresses on this machine at which its servers answer as long as this lasts, by their names; nobody can guess them."""
    path = f"/{secrets.token_urlsafe(16)}/mcp"
    addresses: dict[str, str] = {}
    with ungrouped():
        async with AsyncExitStack() as opened:
            for name in session.world.servers:
                served = await opened.enter_async_context(opened_server(session, name))
                bound = opened.enter_context(socket.create_server((LOOPBACK, 0)))
                app = served.streamable_http_app(streamable_http_path=path)
                web = BoundedServer(app, own_bounds(), closing_s=CLOSING_S)
                await opened.enter_async_context(web.listening(bound))
                addresses[name] = f"http://{LOOPBACK}:{bound.getsockname()[1]}{path}"
            yield addresses


@frozen_type
class OfferedTool:
    """A tool of a world under the name that a model calls it by."""

    name: str
    server: str
    tool: str
    description: str
    schema: Json


@frozen_type
class WorldTools:
    """The tools of a world for a model: what it is offered, and the clients that carry its calls out."""

    offered: tuple[OfferedTool, ...]
    clients: Mapping[str, Client]

    async def call(self, name: str, arguments: Json) -> tuple[str, bool]:
        """The text of the result, and whether it is an error. A name that is not offered is missed by the first server."""
        tool = next((tool for tool in self.offered if tool.name == name), None)
        meant = tool or OfferedTool(name, next(iter(self.clients)), name, "", {})
        answer = await self.answered(meant, arguments)
        if answer.result is None:
            return answer.protocol_error or "", True
        structured = answer.result.get("structuredContent")
        said = result_text(answer.result) or ("" if structured is None else canonical(structured))
        return said, bool(answer.result.get("isError"))

    async def answered(self, tool: OfferedTool, arguments: Json) -> CallAnswer:
        """The tool's answer, as its server gave it."""
        try:
            result = await self.clients[tool.server].call_tool(tool.tool, arguments)
        except (MCPError, RuntimeError) as error:
            return CallAnswer(source="real", protocol_error=protocol_error(error))
        return CallAnswer(source="real", result=result.model_dump(mode="json", by_alias=True, exclude_none=True))


@asynccontextmanager
async def tools_for_model(session: WorldSession) -> AsyncGenerator[WorldTools]:
    """Its tools as long as this lasts, called within this process."""
    offered: list[OfferedTool] = []
    clients: dict[str, Client] = {}
    with ungrouped():
        async with AsyncExitStack() as opened:
            for server in session.world.servers:
                served = await opened.enter_async_context(opened_server(session, server))
                clients[server] = client = await opened.enter_async_context(Client(served))
                for tool in await all_tools(client):
                    name = _free_name(server, tool.name, {other.name for other in offered})
                    schema: Json = {"properties": {}, **tool.input_schema}
                    offered.append(OfferedTool(name, server, tool.name, tool.description or "", schema))
            yield WorldTools(tuple(offered), clients)


def _free_name(server: str, tool: str, taken: set[str]) -> str:
    """The tool's own name, where models may call it so and no other tool has it, else one that is like it."""
    if _NAME.fullmatch(tool) and tool not in taken:
        return tool
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{server}__{tool}")[:60]
    return next(name for name in (plain, *(f"{plain}_{at}" for at in range(2, 1000))) if name not in taken)
