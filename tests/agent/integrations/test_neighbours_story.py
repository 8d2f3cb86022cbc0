"""The agent among real neighbours: MCP servers over stdio, files of agent-runs and traces, one that is down, one kill."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from tests.hang import HANG_S
from tests.shared.agent.desk import ROOT, Desk, Json, message, record
from tests.shared.agent.story import case, measured, rubrics
from tests.shared.agent.traces import agent_span, document
from tests.shared.cli.installed import program

RUNS = 150
CASES = 10
BENCHMARKS = 12
REGRESSED = 8
"""Asked for of the second process: what stands in a pipe goes with the one that is killed."""


def neighbours_file(desk: Desk) -> Path:
    """Who is told and read; every server keeps its files in a folder of its own name."""
    servers: Json = {}
    for name, more in (("orchestrator", ["--reply-in", str(desk.folder / "incoming")]), ("desk", []), ("prompts", [])):
        (desk.folder / name).mkdir()
        run: list[JsonValue] = [program("neighbour"), str(desk.folder / name), *more]
        servers[name] = {"run": run, "folder": str(ROOT)}
    file = desk.folder / "neighbours.yaml"
    tell: Json = {
        "orchestrator": {"server": "orchestrator", "tool": "tell"},
        "tasks": {"server": "desk", "tool": "tell"},
        "memory": {"folder": "memory"},
        "people": {"pulls": True},
    }
    read: Json = {
        "runs": {"path": "runs", "everySeconds": 0.2},
        "prompts": {"server": "prompts", "tool": "have", "everySeconds": 0.5},
    }
    file.write_text(json.dumps({"servers": servers, "tell": tell, "read": read}))
    return file


def lines(path: Path) -> list[Any]:
    """The file's lines; none where it is not there."""
    return [json.loads(line) for line in text(path).splitlines()]


def text(path: Path) -> str:
    """What the file holds; nothing where it is not there."""
    return path.read_text() if path.exists() else ""


def until(desk: Desk, has_come: Callable[[], bool], limit_s: float = HANG_S) -> None:
    """Returns once it holds: other processes' work calls nobody here."""
    end = time.monotonic() + limit_s
    while not has_come():
        assert time.monotonic() < end, desk.rows("SELECT type, state, count(*) FROM inbox GROUP BY 1, 2")
        time.sleep(0.05)


def settled(desk: Desk, at_least: int) -> bool:
    """Whether so many messages are settled, and none is pending."""
    ((whole, pending),) = desk.rows("SELECT count(*), coalesce(sum(state = 'pending'), 0) FROM inbox")
    return whole - pending >= at_least and pending == 0


def run_of(number: int) -> Json:
    """What an agent has done, now better, now worse."""
    said = "good" if number % 3 else "bad"
    fields: Json = {"agentId": "writer", "inputs": {"q": f"c{number % CASES}"}, "outputs": {"output": said}}
    return {"id": f"run{number}", "type": "agent-run", "fields": fields}


def work_on(desk: Desk, process: subprocess.Popen[bytes], numbers: range) -> None:
    """Agent-runs arrive in the file, while benchmarks are asked for."""
    assert process.stdin is not None
    every = RUNS // BENCHMARKS
    with (desk.folder / "runs" / "agents.jsonl").open("a") as file:
        for number in numbers:
            file.write(json.dumps(run_of(number)) + "\n")
            file.flush()
            if number % every == 0:
                version = "v2" if number // every == REGRESSED else "v1"
                asked = message(f"b{number}", "run-benchmark", benchmarkId="b", promptVersionRef=version)
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()


def quiet(process: subprocess.Popen[bytes]) -> None:
    """Its log must not fill the pipe."""
    assert process.stderr is not None
    threading.Thread(target=process.stderr.read, daemon=True).start()


def test_agent_runs_arrive_while_benchmarks_run_and_every_neighbour_hears_what_concerns_it(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    cases = [case(f"c{number}", expectedOutputs={"output": "good"}, rubricId=None) for number in range(CASES)]
    desk.imported(*rubrics(), *cases, *measured("b", 8, {"v1": 8, "v2": 2}))
    options = ("--stdin", "--watch", "incoming", "--integrations", str(neighbours_file(desk)), "--retry-seconds", "0.1")
    (desk.folder / "runs").mkdir()
    (desk.folder / "incoming").mkdir()
    (desk.folder / "desk" / "down").touch()
    versions = [record(f"p@{n}", "prompt-version", content="Hi", versionNumber=n, promptId="p") for n in (1, 2, 3)]
    follows: list[Json] = [{"sourceId": f"p@{n}", "targetId": f"p@{n - 1}", "type": "follows"} for n in (2, 3)]
    (desk.folder / "prompts" / "have.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in (*versions, *follows))
    )
    with desk.running(*options) as process:
        quiet(process)
        work_on(desk, process, range(RUNS // 2))
        until(desk, lambda: desk.rows("SELECT count(*) FROM inbox WHERE state = 'done'")[0][0] > RUNS // 4)
        process.kill()  # in the midst of it
        process.wait()
    with desk.running(*options) as process:
        quiet(process)
        work_on(desk, process, range(RUNS // 2, RUNS))
        (desk.folder / "runs" / "trace.json").write_text(json.dumps(document(agent_span("writer", "c1", "good"))))
        until(desk, lambda: "benchmark-regression" in text(desk.folder / "orchestrator" / "told.jsonl"))
        until(desk, lambda: desk.rows("SELECT 1 FROM test_run WHERE agent_run_id LIKE 'otel:%'") != [])
        until(desk, lambda: settled(desk, RUNS + 1 + BENCHMARKS // 2))
        assert lines(desk.folder / "desk" / "told.jsonl") == []  # it is down, and delays nobody
        (desk.folder / "desk" / "down").unlink()
        until(desk, lambda: desk.rows("SELECT 1 FROM delivery WHERE state = 'pending' AND addressee <> 'people'") == [])
    assert desk.sound()
    assert_every_run_was_judged_once(desk)
    assert_everybody_was_told_in_order(desk)
    assert desk.rows("SELECT count(*) FROM minion WHERE type = 'prompt-version'") == [(3,)]
    assert desk.rows("SELECT count(*) FROM inbox WHERE type = 'classify-failure' AND state = 'done'")[0][0] >= 1
    assert desk.rows("SELECT count(*) FROM inbox WHERE state = 'dead'") == [(0,)]


def assert_every_run_was_judged_once(desk: Desk) -> None:
    """However often a file was read, or a process began."""
    judged = desk.rows("SELECT agent_run_id, count(*) FROM test_run WHERE agent_run_id LIKE 'run%' GROUP BY 1")
    assert len(judged) == RUNS
    assert {count for _, count in judged} == {1}
    assert desk.rows("SELECT passed FROM test_run WHERE agent_run_id LIKE 'otel:%'") == [(1,)]


def assert_everybody_was_told_in_order(desk: Desk) -> None:
    """Each row once for each key, and none before the one before it."""
    for addressee, file in (
        ("orchestrator", desk.folder / "orchestrator" / "told.jsonl"),
        ("tasks", desk.folder / "desk" / "told.jsonl"),
        ("memory", desk.folder / "memory" / "memory.jsonl"),
    ):
        queued = [key for (key,) in desk.rows("SELECT key FROM outbox WHERE addressee = ? ORDER BY seq", addressee)]
        assert queued
        assert list(dict.fromkeys(line["key"] for line in lines(file))) == queued
