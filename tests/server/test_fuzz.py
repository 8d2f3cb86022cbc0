"""A short run of the fuzzers; 10 minutes by hand: python -m tests.bench.fuzz --minutes 10, and tests.bench.fuzz.wire over real wires."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minions_evals_mcp.server.catalogue import CATALOGUE
from tests.bench.fuzz import wire as fuzz_wire
from tests.bench.fuzz.__main__ import turns
from tests.bench.fuzz.finds import Finds, held_against
from tests.bench.fuzz.tools import CAP, SECRET, fuzz, oracles


@pytest.mark.parametrize("seed", [1, 2])
async def test_150_generated_calls_break_nothing(tmp_path: Path, seed: int) -> None:
    found = await fuzz(150, seed, tmp_path)
    slow = [one for one in found.faults if "too slow" in one]  # a loaded machine is no fault of a tool
    assert found.faults == slow
    assert set(found.by_tool) == set(CATALOGUE)
    assert found.refused < found.calls


@pytest.mark.parametrize("wire", ["stdio-2025", "http-2026"])
def test_whatever_comes_over_a_wire_is_answered_for_little_cpu(tmp_path: Path, wire: str) -> None:
    found = fuzz_wire.fuzz(60, 1, wire, tmp_path)
    assert found.faults == []
    assert (found.calls, found.unanswered) == (60, 0)
    assert 0 < found.errors < found.calls


def test_the_cpu_of_a_process_and_its_children_is_seen() -> None:
    busy = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    with subprocess.Popen([sys.executable, "-c", busy], start_new_session=True) as process:
        try:
            while fuzz_wire.cpu_s(process.pid) < 0.3:
                time.sleep(0.05)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_each_oracle_sees_what_it_is_for() -> None:
    assert oracles("internal-error: broke", 0) == ["a crash"]
    assert oracles("Traceback (most recent call last)", 0) == ["a traceback"]
    assert oracles(f"x {SECRET} y", 0) == ["the secret"]
    assert oracles("x" * (CAP + 1), 0) == ["too long an answer"]
    assert oracles("", 2) == ["too slow"]
    assert oracles("fine", 0.1) == []


@pytest.mark.parametrize("way", ["pages", "graphql", "otlp"])
def test_a_moment_of_each_listener_breaks_nothing(way: str) -> None:
    finds = Finds()
    turns(finds, 1)[way](0.0)
    assert finds.faults == []
    assert sum(finds.tries.values()) >= 25


def test_spoilt_files_and_arguments_are_refused_by_name() -> None:
    finds = Finds()
    for way in ("arguments", "logs"):
        turns(finds, 1)[way](time.monotonic() + 0.1)
    assert [one for one in finds.faults if not one.endswith(" s")] == []
    assert sum(finds.tries.values()) >= 15


def test_a_broken_answer_is_held_against_a_door() -> None:
    assert held_against("it crashed (KeyError)") == ["broken (it crashed)"]
    assert held_against("\x1b[2J", for_terminal=True) == ["a control character '\\x1b'"]
    assert held_against("\x1b[2J") == []
    assert held_against("refused: no such run") == []
