"""The tool that an optimiser asks: is this candidate better?"""

from __future__ import annotations

from functools import partial

from mcp_types import CallToolResult

from minions_evals_mcp.operations import try_version as operation
from minions_evals_mcp.server.edge.derived import WaitingArguments
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.tools.running import begun


async def try_version(call: Call, arguments: WaitingArguments) -> CallToolResult:
    """The trial's run, as far as it is when the wait ends."""
    request = arguments.request(operation.Request)
    starting = partial(operation.start, call.engine, request, default_target=call.target)
    return await begun(call, starting, arguments.wait_seconds, request.max_cost_usd)
