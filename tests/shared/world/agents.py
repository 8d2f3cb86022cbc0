"""An agent's side of a world: the SDK's client over stdio, to the command or to the server that a unit's configuration names."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult
from pydantic import JsonValue
from pydantic_core import to_json

from tests.shared.cli.installed import program
from tests.shared.cli.terminal import Terminal

REAL = Path(__file__).with_name("real_server.py")
Json = dict[str, JsonValue]


@asynccontextmanager
async def pointed_at(
    at: Terminal, *arguments: str, told: list[str] | None = None, anew: bool = False
) -> AsyncGenerator[Client]:
    """A client of `minions-evals world serve`, forked or started anew; what that says on stderr is added to `told` at the end."""
    started, *module = [sys.executable, "-m", "minions_evals_mcp.cli"] if anew else [program("minions-evals")]
    command = StdioServerParameters(
        command=started, args=[*module, "world", "serve", *arguments], env=at.environment, cwd=at.folder
    )
    with TemporaryFile("w+", encoding="utf-8") as errors:
        async with Client(stdio_client(command, errlog=errors)) as client:
            yield client
        errors.seek(0)
        if told is not None:
            told.append(errors.read())


def world_file(at: Terminal, servers: Json, *, name: str = "world.yaml", **fields: JsonValue) -> str:
    """A suite file with one world, `w`."""
    record: Json = {"id": "w", "type": "world", "fields": {"name": "W", "servers": servers, **fields}}
    at.file(name, to_json({"minions": [record]}).decode())
    return name


def real(at: Terminal, mode: str, *more: str, anew: bool = False, **fields: JsonValue) -> Json:
    """The server `notes` in that mode, with the real one behind it, forked or started anew."""
    run: list[JsonValue] = [sys.executable if anew else program("python"), str(REAL), str(at.folder / "starts"), *more]
    return {"notes": {"mode": mode, "run": run, "tape": "notes.jsonl", **fields}}


def starts(at: Terminal) -> list[int]:
    """The processes that the real server was started as."""
    file = at.folder / "starts"
    return [*map(int, file.read_text("utf-8").split())] if file.exists() else []


def text(result: CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")
