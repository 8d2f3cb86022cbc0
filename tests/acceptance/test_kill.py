"""The kill test: a benchmark judged by model dies at twenty moments, loses nothing and pays for no verdict twice."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections import Counter
from dataclasses import dataclass
from subprocess import Popen
from typing import Literal

import anyio

from tests.acceptance.workplace import TOP, Told, Workplace, case_id, suite, until
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import FakeSettings, Server

CASES = 300
CALLS = CASES * len(TOP)
KILLS = 20
AT_ONCE = 8
UNCOMMITTED = (3 * AT_ONCE + 1) * len(TOP)
"""The pipeline's window: a unit in each worker, two for each worker on the way to the disk, one being confirmed."""
SLOW = FakeSettings(latency_ms=25)
ASKED = re.compile(rb"Criterion: (\w+).*?request (\d{4})", re.DOTALL)

Phase = Literal["starting", "judging", "concluding"]


@dataclass(frozen=True, slots=True)
class Moment:
    """When to kill: so many seconds after the start, so many calls after it, or so many seconds after the last call."""

    phase: Phase
    after: float


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store holds: the criteria and positions that have a verdict, and whether the run is concluded."""

    verdicts: frozenset[tuple[str, int]]
    concluded: bool
    started: int


def moments(seed: int) -> list[Moment]:
    """Twenty moments from start-up to the concluding transaction; the same for the same seed."""
    draw = random.Random(seed)  # noqa: S311 - chooses when to kill, guards nothing
    mixed = [Moment("judging", draw.randrange(1, 80)) for _ in range(12)]
    mixed += [Moment("starting", draw.uniform(0.05, 1.5)) for _ in range(4)]
    draw.shuffle(mixed)
    return mixed + [Moment("concluding", 0.005 * number) for number in range(KILLS - len(mixed))]


def kept(place: Workplace) -> Kept:
    """What is committed now."""
    verdicts = place.rows("SELECT criterion_id, position FROM verdict")
    ((concluded, started),) = place.rows(
        "SELECT (SELECT count(*) FROM benchmark_run), (SELECT coalesce(max(updated_at), 0) FROM job)"
    )
    return Kept(frozenset(verdicts), bool(concluded), started)


def asked(server: Server) -> Counter[tuple[str, int]]:
    """How often each criterion of each position was asked for since the last look."""
    assert server.heard is not None
    found = [ASKED.search(body) for body in server.heard]
    server.heard.clear()
    return Counter((f"acceptance/{one[1].decode()}", int(one[2])) for one in found if one)


async def wait_for(moment: Moment, before: Kept, place: Workplace, server: Server, process: Popen[bytes]) -> None:
    """Returns when the moment has come, or when the process ended before it."""
    began, calls = anyio.current_time(), server.requests

    def has_come() -> bool:
        made = server.requests - calls
        match moment.phase:
            case "starting":
                return anyio.current_time() - began >= moment.after
            case "judging":
                return made >= moment.after
            case "concluding":
                answered = made >= CALLS - len(before.verdicts) and server.in_flight == 0
                return before.concluded or (answered and (made > 0 or kept(place).started != before.started))

    await until(lambda: process.poll() is not None or has_come())
    if moment.phase == "concluding":
        with anyio.move_on_after(moment.after):
            await until(lambda: process.poll() is not None)


async def killed(process: Popen[bytes], server: Server) -> bool:
    """Kills the process group and waits until the server saw its end; whether it was alive till then."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    await until(lambda: not server.connections)
    return process.returncode == -signal.SIGKILL


async def test_a_benchmark_killed_at_twenty_moments_judges_every_case_once_and_pays_for_no_kept_verdict(
    place: Workplace, server: Server
) -> None:
    server.settings = SLOW
    server.heard = []
    await place.take_in(CASES)
    command = place.judging("--concurrency", str(AT_ONCE))
    kills = Counter[str]()
    lost_at_kills: list[int] = []
    for moment in moments(seed=8):
        before = kept(place)
        with place.started(*command, anew=moment.phase == "starting") as process:
            await wait_for(moment, before, place, server, process)
            in_flight = server.in_flight
            assert await killed(process, server) or process.returncode == 0, moment
        checked = await place.tell("db", "check")
        assert checked.code == 0, (moment, checked)
        now, calls = kept(place), asked(server)
        again = before.verdicts & calls.keys()
        assert not again, f"{moment}: asked for again though kept: {sorted(again)}"
        assert calls.total() == len(calls), f"{moment}: asked for twice in one start"
        lost = len(calls.keys() - now.verdicts)
        assert lost <= UNCOMMITTED, (moment, lost)
        lost_at_kills.append(lost)
        kills[moment.phase if process.returncode else "too late"] += 1
        print(f"{moment} in flight {in_flight}, lost {lost}, kept {len(now.verdicts)}, concluded {now.concluded}")  # noqa: T201 - the figures, shown with -s

    told = await place.tell(*command)

    assert told.code == 0, told
    assert told.json()["outcomes"] == {"scored": CASES}
    assert server.requests <= CALLS + sum(lost_at_kills)
    spent = told.numbers("spent")
    assert spent["calls"] + spent["unansweredCalls"] >= server.requests, (
        "what was paid and lost is counted, if not to the call"
    )
    assert server.max_in_flight <= AT_ONCE
    assert kills["starting"] == 4
    assert kills["judging"] == 12
    assert kills["too late"] <= 3, kills  # at least one of the four hits between the last call and the end
    place.assert_scored_once(CASES)
    print(f"{server.requests} calls, {sum(lost_at_kills)} lost at {dict(kills)}")  # noqa: T201 - as above


async def interrupted(place: Workplace, server: Server, *options: str, after: int) -> Told:
    """A run that gets Ctrl-C after so many calls."""
    with place.started(*place.judging(*options)) as process:
        await until(lambda: server.requests >= after)
        os.killpg(process.pid, signal.SIGINT)
        with anyio.fail_after(HANG_S):
            return await place.ended(process)


async def test_ctrl_c_leaves_a_run_that_is_resumed_without_paying_twice(place: Workplace, server: Server) -> None:
    server.settings = SLOW
    await place.take_in(40)

    told = await interrupted(place, server, "--concurrency", "4", after=20)

    assert told.code == 130
    assert "Run the same command to resume" in told.err
    assert "Traceback" not in told.err
    assert told.out == ""
    (kept_run,) = (await place.tell("runs", "--json")).list("runs")
    assert (kept_run["state"], kept_run["key"]) == ("stopped", "k")
    verdicts, paid = len(kept(place).verdicts), server.requests
    assert paid - verdicts <= 8  # the four in flight, and what came back while the run was ending

    resumed = await place.tell(*place.judging())

    assert resumed.code == 0, resumed
    assert server.requests - paid == 80 - verdicts
    place.assert_scored_once(40)


async def test_of_two_processes_with_one_key_one_works_and_the_other_is_told_busy(
    place: Workplace, server: Server
) -> None:
    server.hold()
    await place.take_in(40)

    with place.started(*place.judging("--concurrency", "2")) as worker:
        await until(lambda: server.requests >= 2)
        second = await place.tell(*place.judging("--concurrency", "2"))
        assert worker.poll() is None
        server.release()
        with anyio.fail_after(HANG_S):
            first = await place.ended(worker)

    assert second.code == 3
    assert second.error().startswith("busy: ")
    assert "minions-evals runs" in second.error()
    assert first.code == 0, first
    assert server.requests == 80
    place.assert_scored_once(40)


async def test_processes_started_together_with_one_key_double_nothing(place: Workplace, server: Server) -> None:
    await place.take_in(10)
    told: list[Told] = []

    async def start() -> None:
        with place.started(*place.judging()) as process:
            told.append(await place.ended(process))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as together:
            for _ in range(3):
                together.start_soon(start)

    assert {one.code for one in told} <= {0, 3}
    assert all(one.error().startswith("busy: ") for one in told if one.code == 3)
    assert 0 in {one.code for one in told}
    (kept_run,) = (await place.tell("runs", "--json")).list("runs")
    assert kept_run["state"] == "completed"
    assert server.requests == 20
    place.assert_scored_once(10)


async def test_a_key_is_refused_for_other_settings_and_for_an_edited_suite_and_the_difference_is_named(
    place: Workplace, server: Server
) -> None:
    server.settings = SLOW
    await place.take_in(20)
    with place.started(*place.judging("--concurrency", "2")) as process:
        await until(lambda: server.requests >= 10)
        assert await killed(process, server)
    paid = server.requests

    settings = await place.tell(*place.judging("--trials", "2"))
    judge = await place.tell(*place.judging(model="anthropic:claude-sonnet-4-5-judge"))
    edited = suite(20)
    records = edited["minions"]
    assert isinstance(records, list)
    case = next(one for one in records if isinstance(one, dict) and one["id"] == case_id(19))
    assert isinstance(case["fields"], dict)
    case["fields"]["inputs"] = {"question": "What became of request 9999?"}
    (place.folder / "suite.json").write_text(json.dumps(edited))
    assert (await place.tell("import", str(place.folder / "suite.json"))).code == 0
    suite_told = await place.tell(*place.judging())

    assert [one.code for one in (settings, judge, suite_told)] == [2, 2, 2]
    assert settings.error().startswith("conflict: ")
    assert "trials differ" in settings.error()
    assert judge.error().startswith("conflict: ")
    assert "judge differ" in judge.error()
    assert "another suite" in suite_told.error()
    assert suite_told.error().startswith("conflict: ")
    assert "testCase differ" in suite_told.error()
    assert server.requests == paid


async def test_a_suite_that_comes_back_as_it_was_is_resumed(place: Workplace, server: Server) -> None:
    server.settings = SLOW
    await place.take_in(20)
    with place.started(*place.judging("--concurrency", "2")) as process:
        await until(lambda: server.requests >= 10)
        assert await killed(process, server)

    await place.take_in(20)
    told = await place.tell(*place.judging())

    assert told.code == 0, told
    place.assert_scored_once(20)
