"""A real MCP server over stdio, for tests that record it: notes, a counter, tools that fail or end it. Each start adds a line to a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

NOTES: list[str] = []
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    """The tools, with one more where the second argument says so."""
    names = ["add_note", "count", "fail", "refuse", "slow", "token", "die", *sys.argv[2:]]
    return types.ListToolsResult(
        tools=[types.Tool(name=name, description=f"Does {name}.", input_schema=TEXT) for name in names]
    )


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """What the tool answers."""
    arguments = params.arguments or {}
    match params.name:
        case "add_note":
            NOTES.append(str(arguments.get("text")))
            return said(f"{len(NOTES)} notes")
        case "count":
            return said(str(len(NOTES)))
        case "slow":
            await anyio.sleep(60)
            return said("late")
        case "token":
            return said(f"the token is {os.environ.get('NOTES_TOKEN', 'none')}")  # noqa: TID251  what it was started with
        case "die":
            sys.stderr.write("out of memory\n")
            sys.stderr.flush()
            os._exit(1)
        case "refuse":
            raise MCPError(-32000, "refused")
        case _:
            return types.CallToolResult(content=[types.TextContent(type="text", text="broken")], is_error=True)


def said(text: str) -> types.CallToolResult:
    """A text as a result."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main() -> None:
    """Serves until its stdin ends."""
    server = Server("notes", version="1.2.3", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", encoding="utf-8") as starts:
        starts.write(f"{os.getpid()}\n")
    anyio.run(main)
