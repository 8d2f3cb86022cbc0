"""The server beside a bare echo server, in one run: python -m tests.bench.figures.server [rounds].

Start to the first tools/list (wall and the process's CPU: the latter is what a loaded machine does not change), a read's p50 in memory
and over stdio, and 32 calls at once.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.server.hosts import suite
from tests.workshop import config_in, opened

ROOT = Path(__file__).resolve().parents[3]
OURS = "from minions_evals_mcp.server.app import main; main()"
BARE = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("bare")
@server.tool()
async def echo(text: str) -> str:
    return text
server.run("stdio")
"""
AT_ONCE = 32
CALLS = 200
Read = Callable[[Client], Awaitable[object]]


def started(code: str, folder: Path) -> tuple[float, float]:
    """Seconds of the wall and of the process's CPU from its start to the end of its answer to the first tools/list."""
    env = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "MINIONS_EVALS_DB": str(folder / "e.db"),
    }
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdin=-1, stdout=-1, stderr=-3) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, method, params in (
            (1, "initialize", hello),
            (None, "notifications/initialized", {}),
            (2, "tools/list", {}),
        ):
            told = {"jsonrpc": "2.0", "method": method, "params": params, **({"id": number} if number else {})}
            process.stdin.write(json.dumps(told).encode() + b"\n")
            process.stdin.flush()
            if number:
                process.stdout.readline()
        took = time.perf_counter() - began
        process.kill()
        process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def echoed(client: Client) -> object:
    """The bare server's call."""
    return await client.call_tool("echo", {"text": "x"})


async def read(client: Client) -> object:
    """A read of ours."""
    return await client.call_tool("get_record", {"id": "c0"})


async def listed(client: Client) -> object:
    """Another: a page of records."""
    return await client.call_tool("list_records", {"type": "test-case", "limit": 10})


async def timed(client: Client, call: Read) -> tuple[float, float, float]:
    """A call's p50 and the CPU it takes of this process, in ms; calls a second with 32 at once; fails where one of them did."""
    for _ in range(20):
        await call(client)
    spent: list[float] = []
    busy = time.process_time()
    for _ in range(CALLS):
        began = time.perf_counter()
        await call(client)
        spent.append(time.perf_counter() - began)
    busy = time.process_time() - busy
    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE):
            tasks.start_soon(_several, client, call)
    return median(spent) * 1000, busy / CALLS * 1000, AT_ONCE * 10 / (time.perf_counter() - began)


async def _several(client: Client, call: Read) -> None:
    for _ in range(10):
        assert not getattr(await call(client), "is_error", False)


def _bare() -> MCPServer[None]:
    server: MCPServer[None] = MCPServer("bare", log_level="WARNING")

    @server.tool()
    async def echo(text: str) -> str:  # pyright: ignore[reportUnusedFunction]  the server holds it
        return text

    return server


@asynccontextmanager
async def in_memory(folder: Path, *, bare: bool) -> AsyncGenerator[Client]:
    """A client of a server in this process."""
    server = _bare() if bare else build_server(ServerSession(lambda: opened(config_in(folder))), ServerOptions())
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def over_stdio(folder: Path, *, bare: bool) -> AsyncGenerator[Client]:
    """A client of a process."""
    env = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "MINIONS_EVALS_DB": str(folder / "e.db"),
    }
    server = StdioServerParameters(command=sys.executable, args=["-c", BARE if bare else OURS], env=env)
    async with Client(stdio_client(server)) as client:
        yield client


async def reads(folder: Path) -> None:
    """Prints the calls' figures, ours beside the bare one's in turn."""
    for way, over in (("in memory", in_memory), ("stdio", over_stdio)):
        async with over(folder / way, bare=True) as bare, over(folder / way, bare=False) as ours:
            await ours.call_tool("save_records", {"records": suite(10)})
            base, base_cpu, base_rate = await timed(bare, echoed)
            for name, call in (("get_record", read), ("list_records", listed)):
                p50, cpu, rate = await timed(ours, call)
                sys.stdout.write(
                    f"{way}: {name} p50 {p50:.2f} ms, echo {base:.2f} ms, × {p50 / base:.2f};"
                    f" CPU here {cpu:.2f} ms, echo {base_cpu:.2f} ms, × {cpu / base_cpu:.2f};"
                    f" {AT_ONCE} at once {rate:.0f}/s, echo {base_rate:.0f}/s\n"
                )


def main() -> None:
    """Prints the figures."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for way in ("in memory", "stdio"):
            (folder / way).mkdir()
        pairs = [(started(BARE, folder), started(OURS, folder)) for _ in range(rounds + 1)][1:]
        for what, part in (("wall", 0), ("CPU", 1)):
            bare, ours = (median(pair[which][part] for pair in pairs) for which in (0, 1))
            sys.stdout.write(f"start to tools/list, {what}: {ours:.3f} s, bare {bare:.3f} s, {ours - bare:+.3f} s\n")
        anyio.run(reads, folder)


if __name__ == "__main__":
    main()
