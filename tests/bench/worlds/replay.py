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


async def timed(command: Sequence[str], calls: int) -> tuple[float, list[float]]:
    """Milliseconds until the server is ready, and of each call."""
    started = time.perf_counter()
    async with Client(StdioServerParameters(command=command[0], args=[*command[1:]])) as client:
        ready = (time.perf_counter() - started) * 1000
        taken: list[float] = []
        for at in range(calls):
            began = time.perf_counter()
            await client.call_tool("get", {"id": at if at % 2 else "same"})
            taken.append((time.perf_counter() - began) * 1000)
    return ready, sorted(taken)


def show(name: str, ready: float, taken: Sequence[float]) -> None:
    """One line of figures."""
    p50, p95, p99 = (taken[int(len(taken) * share)] for share in (0.5, 0.95, 0.99))
    print(f"{name:<10} ready {ready:7.0f} ms   p50 {p50:6.2f} ms   p95 {p95:6.2f} ms   p99 {p99:6.2f} ms")  # noqa: T201  figures


async def main(calls: int) -> None:
    """Measures both, one after the other, twice: the machine may be busy."""
    servers: dict[str, JsonValue] = {"s": {"mode": "replay", "tape": "s.jsonl"}}
    with TemporaryDirectory() as folder:
        tape(Path(folder), calls)
        for _ in range(2):
            show("bare SDK", *await timed([sys.executable, "-m", "tests.bench.worlds.replay", "bare"], calls))
            with unit(world(servers), base=Path(folder)) as acted_on:
                command = [sys.executable, "-P", "-m", "minions_evals_mcp.world", str(acted_on.session.folder), "s"]
                show("replayed", *await timed(command, calls))


if __name__ == "__main__":
    if sys.argv[1:] == ["bare"]:
        anyio.run(bare)
    else:
        anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else CALLS)
