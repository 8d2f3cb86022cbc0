"""Four servers, two of stdio and two of HTTP, and the daemon on one file at once: nothing is lost and nothing done twice."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client, stdio_client
from pydantic import JsonValue
from pydantic_core import from_json

from tests.hang import HANG_S
from tests.shared.cli.installed import program
from tests.shared.server.hosts import Host, part, rows, suite
from tests.shared.server.wire import ROOT, environment, forked
from tests.workshop import Json

ROUNDS = 3
CASES = 8


@asynccontextmanager
async def over_stdio(folder: Path) -> AsyncGenerator[Host]:
    """A host of a server process of its own."""
    async with Client(stdio_client(forked(folder))) as client:
        yield Host(client)


@asynccontextmanager
async def over_http(folder: Path) -> AsyncGenerator[Host]:
    """The same, listening."""
    command = [program("minions-evals-mcp"), "--http", "127.0.0.1:0"]
    async with await anyio.open_process(command, env=environment(folder), stdout=DEVNULL, stderr=PIPE) as process:
        try:
            assert process.stderr is not None
            said = from_json(await BufferedByteReceiveStream(process.stderr).receive_until(b"\n", 10_000))
            async with Client(said["url"]) as client:
                yield Host(client)
        finally:
            process.kill()


@asynccontextmanager
async def daemon(folder: Path) -> AsyncGenerator[None]:
    """The EvalAgent on the same file."""
    command = [program("minions-eval-agent"), "run", "--db", str(folder / "evals.db")]
    async with await anyio.open_process(
        command, env=environment(folder), cwd=ROOT, stdout=DEVNULL, stderr=DEVNULL
    ) as process:
        try:
            yield
        finally:
            process.kill()


def renamed(name: str) -> list[JsonValue]:
    """A suite whose ids are one caller's own."""
    found: list[JsonValue] = []
    for one in suite(CASES):
        assert isinstance(one, dict)
        fields: Json = {**part(one, "fields")}
        if "inputs" in fields:
            fields["inputs"] = {"q": f"{name} {one['id']}".replace("a-", "")}
        if "testCaseIds" in fields:
            fields["testCaseIds"] = [f"{name}/c{number}" for number in range(CASES)]
        moved: Json = {"id": f"{name}/{one['id']}", "type": one["type"], "fields": fields}
        found.append(moved)
    return found


async def hammer(host: Host, name: str) -> None:
    """Saves, runs and asks the daemon for a run, over and over."""
    await host.call("save_records", records=renamed(name))
    for number in range(ROUNDS):
        asked: Json = {"benchmarkId": f"{name}/b", "waitSeconds": 50}
        done = await host.call("run_benchmark", **asked, idempotencyKey=f"{name}-{number}")
        assert done["state"] == "completed", done
        shared: Json = {
            "id": f"shared/{number}",
            "type": "test-case",
            "fields": {"name": "s", "inputs": {"q": str(number)}},
        }
        await host.call("save_records", records=[shared])
        payload: Json = {"benchmarkId": f"{name}/b", "triggeredBy": "daemon"}
        await host.call("send_message", type="run-benchmark", payload=payload, id=f"{name}/m{number}")


async def all_of(host: Host, kind: str) -> list[Json]:
    """Every record of that type, page by page."""
    found: list[Json] = []
    cursor: Json = {}
    fields = ["id", "state"] if kind == "run" else ["id"]
    while True:
        page = await host.call("list_records", type=kind, limit=100, fields=fields, **cursor)
        found += rows(page, "records")
        if "nextCursor" not in page:
            return found
        cursor = {"cursor": page["nextCursor"]}


async def _all_done(host: Host, wanted: int) -> bool:
    return sum(one["state"] == "completed" for one in await all_of(host, "run")) >= wanted


async def test_four_servers_and_the_daemon_on_one_file_lose_nothing(tmp_path: Path) -> None:
    names = ("one", "two", "three", "four")
    with anyio.fail_after(HANG_S):
        async with AsyncExitStack() as opened:
            hosts = [
                await opened.enter_async_context(open_host(tmp_path))
                for open_host in (over_stdio, over_http, over_stdio, over_http)
            ]
            await opened.enter_async_context(daemon(tmp_path))
            async with anyio.create_task_group() as tasks:
                for host, name in zip(hosts, names, strict=True):
                    tasks.start_soon(hammer, host, name)
            first = hosts[0]
            wanted = len(names) * ROUNDS * 2
            while not await _all_done(first, wanted):  # noqa: ASYNC110  the daemon is another process: its work wakes nobody here
                await anyio.sleep(0.2)
            assert len(await all_of(first, "run")) == wanted
            assert len(await all_of(first, "benchmark-run")) == wanted
            assert len(await all_of(first, "test-run")) == wanted * CASES
            assert len(await all_of(first, "test-case")) == len(names) * CASES + ROUNDS
