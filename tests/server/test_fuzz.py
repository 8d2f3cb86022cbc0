"""A short run of the fuzzer; 10,000 calls by hand: python -m tests.bench.fuzz_tools 10000."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.server.catalogue import CATALOGUE
from tests.bench.fuzz_tools import CAP, SECRET, fuzz, oracles


@pytest.mark.parametrize("seed", [1, 2])
async def test_150_generated_calls_break_nothing(tmp_path: Path, seed: int) -> None:
    found = await fuzz(150, seed, tmp_path)
    slow = [one for one in found.faults if "too slow" in one]  # a loaded machine is no fault of a tool
    assert found.faults == slow
    assert set(found.by_tool) == set(CATALOGUE)
    assert found.refused < found.calls


def test_each_oracle_sees_what_it_is_for() -> None:
    assert oracles("internal-error: broke", 0) == ["a crash"]
    assert oracles("Traceback (most recent call last)", 0) == ["a traceback"]
    assert oracles(f"x {SECRET} y", 0) == ["the secret"]
    assert oracles("x" * (CAP + 1), 0) == ["too long an answer"]
    assert oracles("", 2) == ["too slow"]
    assert oracles("fine", 0.1) == []
