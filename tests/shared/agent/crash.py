"""The crash test: mixed messages, SIGKILL at random moments, and what must hold whatever happened in between."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import anyio

from minions_evals_mcp.engine.context import EngineConfig, open_engine
from minions_evals_mcp.messages.send_message import Letter, send_message
from minions_evals_mcp.shipped import shipped_folder
from tests.shared.agent.desk import Desk, Json, record
from tests.shared.agent.story import answer, case, measured, rubrics

SIZE = 5
BENCHMARKS = ("k0", "k1", "k2")
TARGET = "python:tests.shared.agent.crash:slow"
LONGEST_LIFE_S = 0.4


async def slow(inputs: Json) -> str:
    """A live target that takes its time: a kill finds it at work."""
    await anyio.sleep(0.02)
    return f"bad {inputs['q']}"


def suite(messages: int) -> list[Json]:
    """Three benchmarks with recorded answers, and for the other messages a case each; half of the cases are never answered."""
    benches = [part for name in BENCHMARKS for part in measured(name, SIZE, {f"{name}@1": 3})]
    versions = [record(f"{name}@1", "prompt-version", content=name, versionNumber=1) for name in BENCHMARKS]
    cases = [case(f"case{number}") for number in range(messages)]
    answers = [answer(f"run{number}", f"case{number}", "bad") for number in range(messages) if number % 4 == 0]
    return [*rubrics(), *benches, *cases, *answers, *versions]


def letter(number: int) -> Letter:
    """The message of that number: one of four kinds in turn."""
    ident = f"case{number}"
    kinds: tuple[tuple[str, Json], ...] = (
        ("run-test-case", {"testCaseId": ident, "agentRunId": f"run{number}"}),
        ("run-benchmark", {"benchmarkId": BENCHMARKS[number % 3], "promptVersionRef": f"{BENCHMARKS[number % 3]}@1"}),
        ("agent-run-completed", {"agentRun": {"type": "agent-run", "fields": {
            "agentId": "writer", "inputs": {"q": ident}, "outputs": {"output": "good"}}}}),
        ("run-test-case", {"testCaseId": ident}),
    )  # fmt: skip
    kind, payload = kinds[number % 4]
    return Letter(type=kind, payload=payload, id=f"m{number}", from_agent_id="orchestrator")


async def _send(db: Path, numbers: range) -> None:
    async with open_engine(EngineConfig(db, shipped_folder("skills"))) as engine:
        for number in numbers:
            await send_message(engine, letter(number))


@dataclass(frozen=True, slots=True)
class Crashed:
    """How often it was killed, how often of that with messages still to do, and how long the whole took."""

    kills: int
    at_work: int
    seconds: float


def crashed(desk: Desk, *, messages: int, kills: int, seed: int) -> Crashed:
    """Kills the daemon that often while it works through the messages, then lets it come to its end."""
    began = time.monotonic()
    draw = random.Random(seed)  # noqa: S311  chooses when to kill, guards nothing
    desk.imported(*suite(messages))
    at_work = 0
    for life in range(kills):
        anyio.run(_send, desk.db, range(life * messages // kills, (life + 1) * messages // kills))
        _kill_after(desk, draw.uniform(0, LONGEST_LIFE_S))
        at_work += desk.rows("SELECT count(*) FROM inbox WHERE state = 'pending'") != [(0,)]
    options = ("--deliver-to", "out", "--target", TARGET, "--retry-seconds", "0.05")
    desk.drained(options=options)
    return Crashed(kills, at_work, time.monotonic() - began)


def _kill_after(desk: Desk, seconds: float) -> None:
    with desk.running("--deliver-to", "out", "--target", TARGET, "--retry-seconds", "0.05") as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert b"agent-started" in first, first + process.stderr.read()
        time.sleep(seconds)  # the moment is random on purpose
        process.send_signal(signal.SIGKILL)
        process.communicate()


def verify(desk: Desk, messages: int) -> None:
    """Every effect is there exactly once, everything is told at least once under its one key, and the store is sound."""
    states = Counter(row[0] for row in desk.rows("SELECT state FROM inbox"))
    assert set(states) == {"done"}, desk.rows("SELECT id, reason FROM inbox WHERE state <> 'done'")
    keys = [row[0] for row in desk.rows("SELECT key FROM job ORDER BY key")]
    assert keys == sorted(expected_keys(messages))
    assert desk.rows("SELECT DISTINCT state FROM job") == [("completed",)]
    benchmarks = sum(number % 4 == 1 for number in range(messages))
    ((runs, failed),) = desk.rows("SELECT count(*), sum(passed = 0) FROM test_run")
    assert runs == messages - benchmarks + SIZE * benchmarks
    assert desk.rows("SELECT count(*) FROM benchmark_run") == [(benchmarks,)]
    assert failed > live_without_agent(messages)
    remembered = desk.rows("SELECT json_extract(fields, '$.key') FROM outbox WHERE type = 'memory-item' ORDER BY 1")
    assert remembered == desk.rows(
        "SELECT DISTINCT 'eval-failure/' || json_extract(f.rest, '$.causeKey') FROM eval_failure f JOIN test_run r ON r.id = f.test_run_id"
        " WHERE r.agent_run_id IS NOT NULL ORDER BY 1"
    )
    answered = desk.rows("SELECT json_extract(fields, '$.payload.messageId') FROM outbox WHERE key LIKE 'reply:%'")
    assert sorted(row[0] for row in answered) == sorted(f"m{number}" for number in range(messages))
    assert told_keys(desk) == {row[0] for row in desk.rows("SELECT key FROM outbox")}
    assert desk.rows("SELECT DISTINCT state FROM delivery") == [("delivered",)]
    assert desk.sound()


def expected_keys(messages: int) -> list[str]:
    """The keys of the runs that the messages start."""
    return [
        f"message:m{number}:case{number}" if number % 4 == 2 else f"message:m{number}" for number in range(messages)
    ]


def live_without_agent(messages: int) -> int:
    """The failed runs of the live target, which are nobody's to remember."""
    return sum(number % 4 == 3 for number in range(messages))


def told_keys(desk: Desk) -> set[str]:
    """The keys of all lines that were delivered."""
    lines = [line for path in (desk.folder / "out").iterdir() for line in path.read_text("utf-8").splitlines()]
    return {json.loads(line)["key"] for line in lines if _is_whole(line)}


def _is_whole(line: str) -> bool:
    """A line that a kill has cut off is told again."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
