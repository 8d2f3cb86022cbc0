"""How long a replayed call takes over stdio, beside the SDK's bare round trip, and how long a world takes to be ready.

python -m tests.bench.worlds.replay [CALLS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from pydantic import JsonValue
from pydantic_core import to_json

from tests.shared.world.units import unit, world

CALLS = 1000
TOOL: dict[str, JsonValue] = {"name": "get", "inputSchema": {"type": "object"}}
RESULT: dict[str, JsonValue] = {"content": [{"type": "text", "text": "41.5"}], "isError": False}
AT = datetime(2026, 3, 1, tzinfo=UTC)


async def bare() -> None:
    """A server of the SDK that answers with a constant."""

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(TOOL)])

    async def call_tool(_context: Any, _params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult.model_validate(RESULT)

    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def tape(folder: Path, calls: int) -> None:
    """A tape with as many distinct calls, and one that is repeated as often."""
    lines: list[object] = [{"tape": 1, "server": "s", "tools": [TOOL]}]
    lines += [{"tool": "get", "arguments": {"id": at}, "result": RESULT} for at in range(calls)]
    lines += [{"tool": "get", "arguments": {"id": "same"}, "result": RESULT}] * calls
    (folder / "s.jsonl").write_bytes(b"".join(to_json(line) + b"\n" for line in lines))


async def timed(client: Client, arguments: dict[str, JsonValue]) -> float:
    """Milliseconds of a call."""
    began = time.perf_counter()
    await client.call_tool("get", arguments)
    return (time.perf_counter() - began) * 1000


def server(arguments: Sequence[str]) -> StdioServerParameters:
    """A server that is a process of its own."""
    return StdioServerParameters(command=sys.executable, args=[*arguments])


def show(name: str, taken: Sequence[float]) -> list[float]:
    """One line of figures, which are also the answer."""
    shares = {share: sorted(taken)[int(len(taken) * share)] for share in (0.5, 0.95, 0.99)}
    print(f"{name:<12}", *(f"p{100 * share:.0f} {ms:6.2f} ms  " for share, ms in shares.items()))  # noqa: T201  figures
    return [*shares.values()]


async def main(calls: int) -> None:
    """Both servers run at once and are called by turns, so that what else the machine does meets both alike."""
    servers: dict[str, JsonValue] = {"s": {"mode": "replay", "tape": "s.jsonl"}}
    with TemporaryDirectory() as folder:
        tape(Path(folder), calls)
        with unit(world(servers), base=Path(folder)) as acted_on:
            replays = server(["-P", "-m", "minions_evals_mcp.world", str(acted_on.session.folder), "s"])
            async with Client(server(["-m", "tests.bench.worlds.replay", "bare"])) as sdk, Client(replays) as replaying:
                bare_ms: list[float] = []
                replayed_ms: list[float] = []
                for at in range(calls):
                    arguments: dict[str, JsonValue] = {"id": at if at % 2 else "same"}
                    first, second = (sdk, replaying) if at % 4 < 2 else (replaying, sdk)
                    one, other = await timed(first, arguments), await timed(second, arguments)
                    bare_ms.append(one if first is sdk else other)
                    replayed_ms.append(other if first is sdk else one)
            own = [entry.duration_ms for entry in acted_on.session.entries()]
    sdk_figures, replay_figures = show("bare SDK", bare_ms), show("replayed", replayed_ms)
    show("of it ours", own)
    print("ratio       ", *(f"{b / a:.2f}" for a, b in zip(sdk_figures, replay_figures, strict=True)))  # noqa: T201  figures


if __name__ == "__main__":
    if sys.argv[1:] == ["bare"]:
        anyio.run(bare)
    else:
        anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else CALLS)
