"""A read costs one way to the store's thread and back: counted by the snapshots that it takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import Client

from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.shared.server.hosts import Host, suite
from tests.workshop import Json, config_in, opened


@dataclass(frozen=True, slots=True)
class Watched:
    """A host, and every statement that its server's reader carries out."""

    host: Host
    statements: list[str]

    def snapshots(self) -> int:
        """How many were taken since the last look."""
        taken = self.statements.count("BEGIN")
        self.statements.clear()
        return taken


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncGenerator[Watched]:
    session = ServerSession(lambda: opened(config_in(tmp_path)))
    statements: list[str] = []
    async with Client(build_server(session, ServerOptions())) as client:
        host = Host(client)
        await host.call("save_records", records=suite(4))
        await host.call("run_benchmark", benchmarkId="b", idempotencyKey="k", waitSeconds=50)
        store = (await session.engine()).store
        await store.read(lambda db: db.set_trace_callback(statements.append))
        yield Watched(host, statements)
        await store.read(lambda db: db.set_trace_callback(None))


@pytest.mark.parametrize(
    ("tool", "asked", "most"),
    [
        ("get_record", {"id": "c0"}, 1),
        ("get_record", {"id": "b"}, 1),
        ("list_records", {"type": "test-case"}, 1),
        ("list_records", {"type": "test-run", "detail": "full"}, 1),
        ("list_records", {"type": "run"}, 1),
        ("detect_trend", {"benchmarkId": "b"}, 1),
        ("get_run", {"runId": "k"}, 2),
    ],
)
async def test_a_tool_that_reads_asks_the_store_once(watched: Watched, tool: str, asked: Json, most: int) -> None:
    watched.snapshots()
    await watched.host.raw(tool, **asked)
    assert 1 <= watched.snapshots() <= most


@pytest.mark.parametrize(
    "address", ["evals://index", "evals://test-case/c0", "evals://runs/k/results", "evals://benchmarks/b/trend", "evals://outbox"]
)  # fmt: skip
async def test_a_resource_is_read_in_one_snapshot(watched: Watched, address: str) -> None:
    watched.snapshots()
    await watched.host.client.read_resource(address)
    assert watched.snapshots() == 1
