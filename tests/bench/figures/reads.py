"""Lookups in a great store, `db check` beside SQLite's own quick check, and the first row of an export.

python -m tests.bench.figures.reads [test-runs] [--keep FILE]

The store holds a million test-runs of 1,000 cases and a benchmark of 1,000 runs. Prints the p50 and p95 of each lookup in the
process that serves it: CPU, and wall on the machine as it is. `--keep` writes the figures to a file, as JSON.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import anyio
from httpx2 import AsyncClient

from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.answers.pages.benchmark_page import read_benchmark_page
from minions_evals_mcp.engine.answers.run_head import read_run_head
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.connection import Db, open_raw
from tests.bench.figures.history import built
from tests.shared.bench.process import PATH, measured
from tests.shared.server.hosts import Host, hosted
from tests.shared.view.visitor import visitor
from tests.workshop import config_in, opened

CALLS = 60
CLI = (sys.executable, "-m", "minions_evals_mcp.cli")
Read = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Lookup:
    """What one call of a lookup takes, in milliseconds."""

    cpu_p50: float
    cpu_p95: float
    wall_p95: float


@dataclass(frozen=True, slots=True)
class Reads:
    """The server's lookups, what pages read and whole pages, by name; the CPU seconds of `db check` and of
    `PRAGMA quick_check`; the seconds to an export's first row.
    """

    lookups: Mapping[str, Lookup]
    data: Mapping[str, Lookup]
    pages: Mapping[str, Lookup]
    check: float
    quick_check: float
    first_row: float


def asked(host: Host, run_id: str, test_run_id: str) -> dict[str, Read]:
    """Every lookup of the server, each about something that the store has much of."""
    calls: dict[str, tuple[str, dict[str, object]]] = {
        "detect_trend": ("detect_trend", {"benchmarkId": "b"}),
        "get_run": ("get_run", {"runId": run_id}),
        "get_statistics": ("get_statistics", {"testCaseId": "c1"}),
        "get_statistics, executions": ("get_statistics", {"testCaseId": "c1", "executions": True}),
        "get_record, test-run": ("get_record", {"id": test_run_id}),
        "get_record, case": ("get_record", {"id": "c1"}),
        "get_record, benchmark-run": ("get_record", {"id": "old500"}),
        "list_records, test-run": ("list_records", {"type": "test-run"}),
        "list_records, benchmark-run": ("list_records", {"type": "benchmark-run"}),
        "list_records, eval-failure": ("list_records", {"type": "eval-failure"}),
    }
    return {name: partial(host.call, tool, **arguments) for name, (tool, arguments) in calls.items()}


def shown(engine: Engine, run_id: str) -> dict[str, Read]:
    """What pages read."""
    return {
        "overview page": partial(read_overview, engine, skip=0, limit=50),
        "benchmark page": partial(read_benchmark_page, engine, "b"),
        "run page's head": partial(read_run_head, engine, run_id),
    }


async def timed(read: Read) -> Lookup:
    """So many calls, after one that warms up."""
    await read()
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(CALLS):
        began, before = time.perf_counter(), time.process_time()
        await read()
        cpu.append((time.process_time() - before) * 1000)
        wall.append((time.perf_counter() - began) * 1000)
    cpu.sort()
    return Lookup(cpu[CALLS // 2], cpu[int(CALLS * 0.95)], sorted(wall)[int(CALLS * 0.95)])


Lookups = dict[str, Lookup]


async def lookups(folder: Path) -> tuple[Lookups, Lookups, Lookups]:
    """The times of the server's lookups, of what pages read, and of whole pages; the collector is set as the programs set it."""
    gc.set_threshold(100_000, 50, 1000)
    config = config_in(folder)
    async with opened(config) as engine:
        run_id = await engine.store.read(partial(_first, table="benchmark_run"))
        test_run_id = await engine.store.read(partial(_first, table="test_run"))
        data = {name: await timed(read) for name, read in shown(engine, run_id).items()}
        async with visitor(engine) as client:
            addresses = (
                "/",
                "/runs",
                "/benchmark?id=b",
                f"/run?id={run_id}",
                "/failures",
                f"/case?run={run_id}&at=0.1",
            )
            pages = {address.partition("?")[0]: await timed(partial(_page, client, address)) for address in addresses}
    async with hosted(config) as host:
        found = {name: await timed(read) for name, read in asked(host, run_id, test_run_id).items()}
    return found, data, pages


async def _page(client: AsyncClient, address: str) -> None:
    answer = await client.get(address)
    assert answer.status_code == 200, f"{address}: {answer.status_code}"


def _first(db: Db, *, table: str) -> str:
    return db.execute(f"SELECT id FROM {table} ORDER BY seq LIMIT 1").fetchone()[0]


def quick_check(store: Path) -> float:
    """The CPU seconds of SQLite's own quick check."""
    db = open_raw(store, read_only=True)
    before = time.process_time()
    (answer,) = db.execute("PRAGMA quick_check").fetchone()
    assert answer == "ok", answer
    db.close()
    return time.process_time() - before


def first_row(store: Path, environment: Mapping[str, str]) -> float:
    """The seconds from an export's start to its first row, less those of a command that exports nothing."""
    command = [*CLI, "export", "--type", "test-run", "--db", str(store)]
    began = time.perf_counter()
    with subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        took = time.perf_counter() - began
        child.kill()
    began = time.perf_counter()
    measured([*CLI, "export", "--type", "approval", "--db", str(store)], environment)
    return took - (time.perf_counter() - began)


def taken(test_runs: int) -> Reads:
    """All figures, of a store that is made for them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        anyio.run(built, folder, test_runs)
        store, environment = config_in(folder).db, {"PATH": PATH, "HOME": name}
        found, data, pages = anyio.run(lookups, folder)
        return Reads(found, data, pages, check(store, environment), quick_check(store), first_row(store, environment))


CHECKED = (
    "import sys, time, anyio; from pathlib import Path; from minions_evals_mcp.store.check import check_store;"
    " before = time.process_time(); anyio.run(check_store, Path(sys.argv[1])); print(time.process_time() - before)"
)
"""A check of the store without the command around it."""


def check(store: Path, environment: Mapping[str, str]) -> float:
    """The CPU seconds of `db check`, without the start of the command."""
    command = [sys.executable, "-c", CHECKED, str(store)]
    return float(subprocess.run(command, check=True, env=dict(environment), stdout=subprocess.PIPE).stdout)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("test_runs", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    reads = taken(options.test_runs)
    for name, one in (*reads.lookups.items(), *reads.data.items(), *reads.pages.items()):
        sys.stdout.write(
            f"{name:<28} p50 {one.cpu_p50:6.2f} ms  p95 {one.cpu_p95:6.2f} ms of CPU, {one.wall_p95:.2f} ms\n"
        )
    sys.stdout.write(
        f"db check {reads.check:.2f} s, PRAGMA quick_check {reads.quick_check:.2f} s of CPU:"
        f" {reads.check / reads.quick_check:.2f}; the first row of an export after {reads.first_row:.2f} s\n"
    )
    if options.keep is not None:
        options.keep.write_text(json.dumps(asdict(reads)))


if __name__ == "__main__":
    main()
