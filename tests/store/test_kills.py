"""Whatever writes may be killed at any moment: a few moments of the thousand that `tests.bench.kills` draws."""

from __future__ import annotations

from pathlib import Path

from tests.shared.store.command_line import told

KILLS = 12


async def test_after_each_of_some_random_kills_the_store_is_whole_and_nothing_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    said = await told(tmp_path, "-m", "tests.bench.kills", "--kills", str(KILLS), "--seed", "7", program="python")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[-1].startswith(f"{KILLS} kills, ")
