"""Synchronous calls of `evaluate` share an event loop, as a client with pooled connections needs it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from openai import AsyncOpenAI

from minions_evals_mcp import Case
from minions_evals_mcp.evaluation.run_sync import run_sync
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server

CASES = [Case({"question": f"What is {number} plus one?"}) for number in range(40)]
CHECKS = [{"type": "word-count", "value": {"min": 1}}]


@pytest.fixture
def ask(server: Server) -> Generator[Callable[[str], Awaitable[str]]]:
    """A task that asks a model over one client, whose connections are kept from call to call."""
    client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0)

    async def asked(question: str) -> str:
        reply = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        return reply.choices[0].message.content or ""

    yield asked
    run_sync(client.close)


def test_a_client_that_pools_connections_serves_one_evaluation_after_another(evaluated: Any, ask: Any) -> None:
    for name in ("first", "second", "third"):
        result = evaluated(ask, CASES, checks=CHECKS, name=name)
        assert (result.summary.outcomes, result.passed) == ({"scored": 40}, True), str(result)


async def test_from_a_running_loop_the_calls_share_another(evaluated: Any, ask: Any) -> None:
    for name in ("first", "second"):
        assert evaluated(ask, CASES, checks=CHECKS, name=name).summary.outcomes == {"scored": 40}


def test_an_evaluation_within_a_task_and_one_in_another_thread_have_loops_of_their_own(evaluated: Any) -> None:
    def inner(question: str) -> str:
        return question

    def outer(question: str) -> str:
        return str(evaluated(inner, [Case({"question": question})], checks=CHECKS, name="inner").summary.outcomes)

    with ThreadPoolExecutor(2) as threads:
        evaluations = [
            threads.submit(partial(evaluated, outer, CASES[:2], checks=[{"type": "contains", "value": "1"}], name=name))
            for name in ("one", "two")
        ]
        assert [evaluation.result().passed for evaluation in evaluations] == [True, True]


def test_a_task_that_is_left_on_the_loop_does_not_keep_the_program(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
import asyncio
from minions_evals_mcp import evaluate

left = []

async def answer(question):
    left.append(asyncio.ensure_future(asyncio.sleep(3600)))
    return "yes"

for name in ("a", "b"):
    result = evaluate(answer, [{"question": "x"}], checks=[{"type": "contains", "value": "yes"}], name=name, store="s.db")
    print(result.passed)
""")
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["True", "True"]), done.stderr


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_that_a_task_raises_leaves_no_thread_for_which_the_process_waits(
    interrupt: type[BaseException],
) -> None:
    def interrupted() -> None:
        raise interrupt

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep_forever)
            group.start_soon(anyio.to_thread.run_sync, interrupted)

    before = {*threading.enumerate()}
    with pytest.raises(interrupt):
        run_sync(work)
    started = {*threading.enumerate()} - before
    for thread in started:
        thread.join(HANG_S / 10)
    assert [thread for thread in started if thread.is_alive()] == []
