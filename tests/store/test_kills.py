"""Whatever writes may be killed at any moment: a few moments of the thousand that `tests.bench.kills` draws."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from tests.shared.store.command_line import ran

KILLS = 12


async def test_after_each_of_some_random_kills_the_store_is_whole_and_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(600):
        said = await ran(tmp_path, sys.executable, "-m", "tests.bench.kills", "--kills", str(KILLS), "--seed", "7")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1].startswith(f"{KILLS} kills, ")
