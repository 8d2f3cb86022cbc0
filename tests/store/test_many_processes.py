"""One file, several processes."""

from __future__ import annotations

from pathlib import Path

import anyio

from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.database import open_store
from tests.bench.writers import raced
from tests.hang import HANG_S
from tests.shared.store.command_line import Told, told

PROCESSES, WRITES = 4, 200


async def test_four_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """They race for making the file as well. Every acknowledged row is there, the events have no gap, the check is clean."""
    path = tmp_path / "evals.db"
    said: list[Told] = []

    async def write(name: str) -> None:
        said.append(await told(tmp_path, "-m", "tests.store.writer", str(path), name, str(WRITES), program="python"))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for number in range(PROCESSES):
                tasks.start_soon(write, f"p{number}")
    assert [(one.code, one.err) for one in said] == [(0, "")] * PROCESSES
    acknowledged = {line for one in said for line in one.out.split()}
    assert len(acknowledged) == PROCESSES * WRITES
    async with open_store(path, read_only=True) as store:
        kept = await store.read(lambda db: {row[0] for row in db.execute("SELECT id FROM minion")})
        events = await store.read(lambda db: [row[0] for row in db.execute("SELECT seq FROM event ORDER BY seq")])
    assert kept == acknowledged
    assert events == list(range(1, PROCESSES * WRITES + 1))
    assert (await check_store(path)).problems == ()


async def test_of_writers_two_of_which_are_killed_every_acknowledged_row_is_there(tmp_path: Path) -> None:
    found = await raced(tmp_path, writers=4, writes=50, killed=2)
    assert found.lost == []
    assert found.problems == ()
    assert found.acknowledged >= 2 * 50


async def test_two_stores_in_one_process_see_each_others_commits(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    async with open_store(path) as one, open_store(path) as other:
        await one.write(lambda db: db.execute("INSERT INTO event VALUES (NULL, 0, 'one', 'x', 'x', '{}')"))
        await other.write(lambda db: db.execute("INSERT INTO event VALUES (NULL, 0, 'other', 'x', 'x', '{}')"))
        for store in (one, other):
            assert await store.read(lambda db: db.execute("SELECT seq, type FROM event").fetchall()) == [
                (1, "one"),
                (2, "other"),
            ]
