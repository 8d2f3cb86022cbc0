"""A conversation that is cut off goes on at the turn where it stopped: no answer that was kept is paid for again."""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import cast

import anyio
import anyio.to_thread
import pytest

from tests.acceptance.workplace import until
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import FakeSettings, Server

CASES, TURNS, AT_ONCE, KILLS = 4, 12, 2, 6
REMEMBERS = """
import time

def agent(message, session, world):
    told = session.setdefault("told", [])
    told.append(message)
    world.call("count")
    with open("log.txt", "a") as log:
        log.write(f"{len(told)} {message}\\n")
    if message == "m3" and open("log.txt").read().count("m3") < 2:
        time.sleep(600)
    return f"{len(told)}: {told[0]}"

def cannot_be_kept(message, session, world):
    session["file"] = object()
    return agent(message, session.setdefault("inner", {}), world)
"""


def suite(at: Terminal, records: list[Json]) -> None:
    at.file("talk.json", json.dumps({"records": records}))
    assert at.run("import", "talk.json").code == 0


def asked(server: Server) -> list[tuple[int, int]]:
    """The case and the turn of each request, in order."""
    assert server.heard is not None
    last = (str(json.loads(body)["messages"][-1]["content"]).split() for body in server.heard)
    return [(int(words[1]), int(words[3])) for words in last]


@pytest.mark.parametrize("seed", [1])
async def test_no_conversation_is_begun_anew_and_none_is_paid_for_twice(
    at: Terminal, server: Server, seed: int
) -> None:
    server.settings = FakeSettings(latency_ms=25)
    server.says, server.heard = lambda _: "Go on.", []
    checks: Json = {"everyTurn": [{"type": "contains", "value": "Go on"}]}
    talks: list[Json] = [
        {"id": f"c{case}", "type": "test-case", "fields": {
            "name": "C", "conversation": {"turns": [f"case {case} message {turn}" for turn in range(TURNS)]}, **checks,
        }}
        for case in range(CASES)
    ]  # fmt: skip
    suite(
        at,
        [
            *talks,
            {
                "id": "b",
                "type": "benchmark",
                "fields": {"name": "B", "testCaseIds": [f"c{case}" for case in range(CASES)]},
            },
        ],
    )
    here = at.with_env(OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1")
    command = ("run-benchmark", "b", "--target", "openai:agent", "--key", "k", "--concurrency", str(AT_ONCE), "--json")
    draw, kills = Random(seed), 0  # noqa: S311  when to kill, no secret
    for _ in range(KILLS):
        begun, after = server.requests, draw.randrange(1, 8)
        process = here.started(*command)
        await until(
            lambda begun=begun, after=after, process=process: (
                server.requests - begun >= after or process.poll() is not None
            )
        )
        kills += process.poll() is None
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        await until(lambda: not server.connections)
    ended = await anyio.to_thread.run_sync(here.run, *command)
    assert ended.code == 0, ended
    assert ended.one()["outcomes"] == {"scored": CASES}
    order: dict[int, list[int]] = defaultdict(list)
    for case, turn in asked(server):
        order[case].append(turn)
    assert all(after - before in {0, 1} for turns in order.values() for before, after in pairwise(turns))
    assert all(turns[0] == 0 and turns[-1] == TURNS - 1 for turns in order.values())
    repeated = sum(map(len, order.values())) - CASES * TURNS
    assert kills >= KILLS - 1
    assert repeated <= kills * AT_ONCE


@pytest.mark.parametrize(
    ("agent", "log"),
    [
        ("agent", ["1 m1", "2 m2", "3 m3", "3 m3", "4 m4"]),
        ("cannot_be_kept", ["1 m1", "2 m2", "3 m3", "1 m1", "2 m2", "3 m3", "4 m4"]),
    ],
)
async def test_the_agents_memory_and_its_world_go_on_with_it(at: Terminal, agent: str, log: list[str]) -> None:
    at.file("agents.py", REMEMBERS)
    world: Json = {"name": "W", "state": {"count": 0}, "servers": {"w": {"tools": [
        {"name": "count", "rules": [{"changes": [{"op": "increment", "path": "/count", "value": 1}]}]}
    ]}}}  # fmt: skip
    talk: Json = {
        "name": "T", "world": "w", "conversation": {"turns": ["m1", "m2", "m3", "m4"]},
        "assertions": [
            {"type": "state", "value": {"query": "count", "equals": 4}},
            {"type": "effect", "value": {"tool": "count", "times": 4}},
            {"type": "equals", "value": "4: m1"},
        ],
        "turns": {"3": [{"type": "effect", "value": {"tool": "count", "times": 1}}]},
    }  # fmt: skip
    suite(at, [{"id": "w", "type": "world", "fields": world}, {"id": "talk", "type": "test-case", "fields": talk}])
    command = ("run-test-case", "talk", "--target", f"python:agents:{agent}", "--key", "k")
    process = at.started(*command)
    path = at.folder / "log.txt"
    await until(lambda: path.exists() and "3 m3" in path.read_text("utf-8"))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    ended = at.run(*command)
    assert ended.code == 0, ended
    assert path.read_text("utf-8").splitlines() == log
    (row,) = at.run("export", "--type", "test-run").rows()
    assert cast("Json", row["fields"])["passed"] is True
