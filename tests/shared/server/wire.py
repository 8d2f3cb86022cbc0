"""The server over stdio as a process: started anew, forked, or spoken to line by line."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import cast

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import StdioServerParameters
from pydantic import JsonValue

from tests.shared.cli.installed import program
from tests.shared.store.command_line import measured
from tests.workshop import Json

ROOT = Path(__file__).resolve().parents[3]


COMMAND = (sys.executable, "-c", "from minions_evals_mcp.server.app import main; main()")
"""The server started anew, for what is about its start or its end; else `forked()`."""


def forked(folder: Path, **more: str) -> StdioServerParameters:
    """A server for a client of stdio, forked by a process on standby."""
    return StdioServerParameters(command=program("minions-evals-mcp"), env=environment(folder, **more))


def environment(folder: Path, **more: str) -> dict[str, str]:
    """All that the server sees of the outside."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "MINIONS_EVALS_DB": str(folder / "evals.db"),
        **measured(),
        **more,
    }


@dataclass
class Wire:
    """A server process, spoken to line by line in the 2025 era; every line of its stdout must be JSON-RPC."""

    process: Process
    lines: BufferedByteReceiveStream
    last: int = 0
    notes: list[Json] = field(default_factory=list[Json])

    async def ask(self, method: str, **params: JsonValue) -> Json:
        """The result of a request; what the server tells meanwhile is kept in `notes`."""
        self.last += 1
        await self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            found = json.loads(await self.lines.receive_until(b"\n", 10**7))
            assert found["jsonrpc"] == "2.0"
            if found.get("id") == self.last:
                assert "result" in found, found
                return found["result"]
            self.notes.append(found)

    async def say(self, message: Json) -> None:
        """Sends one line."""
        assert self.process.stdin is not None
        await self.process.stdin.send(json.dumps(message).encode() + b"\n")

    async def call(self, tool: str, **arguments: JsonValue) -> Json:
        """The structured answer of a tool."""
        found = await self.ask("tools/call", name=tool, arguments=arguments)
        assert not found.get("isError"), found
        return cast("Json", found["structuredContent"])


@asynccontextmanager
async def wired(
    env: dict[str, str], *arguments: str, handshake: bool = True, anew: bool = False
) -> AsyncGenerator[Wire]:
    """A server after its handshake; killed at the end if it still runs."""
    command = COMMAND if anew else (program("minions-evals-mcp"),)
    async with await anyio.open_process(
        [*command, *arguments], env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE
    ) as process:
        try:
            assert process.stdout is not None
            wire = Wire(process, BufferedByteReceiveStream(process.stdout))
            client: Json = {"name": "test", "version": "0"}
            if handshake:
                await wire.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
                await wire.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
            yield wire
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
