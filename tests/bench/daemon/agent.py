"""Figures of the daemon: start, wake-up, from commit to delivery, idle CPU, messages per second, memory, a soak.

`python -m tests.bench.daemon.agent [--messages 2000] [--soak-seconds 0] [--mcp]`; with --mcp the orchestrator is told by its MCP
server over stdio (tests/shared/agent/neighbour_server.py), else by a file. A soak among neighbours: tests/bench/agent_soak.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
from pydantic import JsonValue

from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.messages.send_message import Letter, send_message
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store.agent import inbox
from tests.shared.agent.desk import ROOT, Desk, Json
from tests.shared.agent.story import answer, case, measured, rubrics

ROUNDS = 40
IDLE_S = 10.0


def said(name: str, value: float, unit: str) -> None:
    """One figure a line."""
    sys.stdout.write(f"{name}: {value:.4g} {unit}\n")
    sys.stdout.flush()


def quantile(values: list[float], share: float) -> float:
    """The value below which that share lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def process_seconds(pid: int) -> float:
    """The CPU time of the process so far."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / 100


def resident_mb(pid: int) -> float:
    """The memory that the process holds."""
    (line,) = (one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


async def until(has_come: Callable[[], bool]) -> None:
    """Returns once it holds."""
    while not has_come():  # noqa: ASYNC110  another process's work calls nobody here
        await anyio.sleep(0.002)


async def wake_ups(engine: Engine) -> list[float]:
    """Milliseconds from the commit of a message to its end, as the store notes both."""
    found: list[float] = []
    for number in range(ROUNDS):
        ident = f"wake{number}"
        await send_message(engine, Letter(type="detect-trend", payload={"benchmarkId": "b"}, id=ident))
        await settled(engine, ident)
        ((took,),) = await engine.store.read(
            lambda db, ident=ident: db.execute(
                "SELECT settled_at - sent_at FROM inbox WHERE id = ?", (ident,)
            ).fetchall()
        )
        found.append(took)
        await anyio.sleep(0.013 * (number % 7))
    return found


async def settled(engine: Engine, ident: str) -> None:
    """Returns once the message is done."""
    while True:
        kept = await engine.store.read(lambda db: inbox.message(db, ident))
        if kept is not None and kept.state != "pending":
            return
        await anyio.sleep(0.002)


async def told_in(engine: Engine, file: Path) -> list[float]:
    """Milliseconds from the commit of a regression's benchmark-run, by this process, to its message's line in the file."""
    found: list[float] = []
    for _ in range(ROUNDS // 2):
        for version in ("v1", "v2"):
            job = await run_benchmark(engine, RunRequest(subject_id="b", prompt_version_ref=version, fresh=True))
        began = time.perf_counter()
        key = f"benchmark-regression:{job.id}"
        await until(lambda key=key: key in file.read_text())
        found.append(1000 * (time.perf_counter() - began))
    return found


async def flood(engine: Engine, number: int) -> float:
    """Messages per second, from the first one's commit to the last one's end."""
    began = time.perf_counter()
    for index in range(number):
        kind = Letter(type="detect-trend", payload={"benchmarkId": "b"}, id=f"flood{began}{index}".replace(".", "-"))
        await send_message(engine, kind)
    await until_none_pending(engine)
    return number / (time.perf_counter() - began)


async def until_none_pending(engine: Engine) -> None:
    """Returns once no message is pending."""
    while (await engine.store.read(inbox.counts)).get("pending"):  # noqa: ASYNC110  as above
        await anyio.sleep(0.01)


async def measure(desk: Desk, pid: int, *, messages: int, soak_s: float, file: Path) -> None:
    """All figures of a running daemon."""
    async with open_engine(EngineConfig(desk.db, shipped_folder("skills"))) as engine:
        await run_benchmark(engine, RunRequest(subject_id="b", prompt_version_ref="v1"))
        await anyio.sleep(2)
        before, began = process_seconds(pid), time.monotonic()
        await anyio.sleep(IDLE_S)
        said("idle CPU", 100 * (process_seconds(pid) - before) / (time.monotonic() - began), "%")
        wakes = await wake_ups(engine)
        said("from a message's commit to its end, p50", statistics.median(wakes), "ms")
        said("from a message's commit to its end, p95", quantile(wakes, 0.95), "ms")
        told = await told_in(engine, file)
        said("from a regression's commit to its delivery, p50", statistics.median(told), "ms")
        said("from a regression's commit to its delivery, p95", quantile(told, 0.95), "ms")
        said("memory before the flood", resident_mb(pid), "MB")
        said(f"{messages} messages", await flood(engine, messages), "messages/s")
        said("memory after the flood", resident_mb(pid), "MB")
        end = time.monotonic() + soak_s
        while time.monotonic() < end:
            await flood(engine, 200)
            said("soak: memory", resident_mb(pid), "MB")


def told_by_mcp(desk: Desk) -> tuple[Path, tuple[str, str]]:
    """Where the orchestrator keeps what its MCP server is told, and the options of an agent that tells it so."""
    folder = desk.folder / "orchestrator"
    folder.mkdir()
    run: list[JsonValue] = [sys.executable, "-m", "tests.shared.agent.neighbour_server", str(folder)]
    wanted: Json = {
        "servers": {"orchestrator": {"run": run, "folder": str(ROOT)}},
        "tell": {"orchestrator": {"server": "orchestrator", "tool": "tell"}},
    }
    (desk.folder / "neighbours.yaml").write_text(json.dumps(wanted))
    return folder / "told.jsonl", ("--integrations", str(desk.folder / "neighbours.yaml"))


def main() -> None:
    """Makes the figures."""
    wanted = argparse.ArgumentParser(description=__doc__)
    wanted.add_argument("--messages", type=int, default=2000)
    wanted.add_argument("--soak-seconds", type=float, default=0)
    wanted.add_argument("--mcp", action="store_true")
    options = wanted.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        desk.imported(*rubrics(), *measured("b", 8, {"v1": 8, "v2": 2}), case("c"), answer("a", "c", "good"))
        file, how = (desk.folder / "out" / "orchestrator.jsonl", ("--deliver-to", "out"))
        if options.mcp:
            file, how = told_by_mcp(desk)
        file.parent.mkdir(exist_ok=True)
        file.touch()
        began = time.perf_counter()
        with desk.running(*how) as process:
            assert process.stderr is not None
            assert json.loads(process.stderr.readline())["event"] == "agent-started"
            said("start, to the lease", time.perf_counter() - began, "s")
            threading.Thread(target=process.stderr.read, daemon=True).start()  # its log must not fill the pipe
            work = partial(
                measure, desk, process.pid, messages=options.messages, soak_s=options.soak_seconds, file=file
            )
            anyio.run(work)


if __name__ == "__main__":
    main()
