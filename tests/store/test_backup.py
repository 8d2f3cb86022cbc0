"""A copy of the store, made while others write."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from minions_evals_mcp.errors import ConflictError, StoreError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.backup import back_up, settle
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import Store, open_store
from tests.hang import HANG_S
from tests.shared.store.command_line import ran, told
from tests.shared.store.small_store import contents
from tests.store.writer import save
from tests.workshop import case, minion


async def counted(path: Path) -> int:
    """How many test cases the store in that file holds."""
    async with open_store(path, read_only=True) as store:
        return len(await store.read(lambda db: records.page(db, "test-case", limit=100_000)))


async def test_a_backup_made_while_a_writer_writes_is_whole_and_opens(small_store: Path) -> None:
    """Pairs are written in one transaction: a copy that holds half a pair would be no snapshot."""
    target = small_store.parent / "backup.db"

    def pair(db: Db, number: int) -> None:
        save(db, record=case(f"left:{number}"))
        save(db, record=case(f"right:{number}"))

    async def write(store: Store, stop: anyio.Event, written: list[int]) -> None:
        while not stop.is_set():
            await store.write(partial(pair, number=len(written)))
            written.append(len(written))

    stop, written = anyio.Event(), list[int]()
    before = after = size = 0
    async with open_store(small_store) as store:
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write, store, stop, written)
                while len(written) < 20:
                    await anyio.wait_all_tasks_blocked()
                before = len(written)
                size = (await back_up(small_store, target)).size
                after = len(written)
                stop.set()
    copied = await counted(target) - 3
    assert copied % 2 == 0
    assert 2 * before <= copied <= 2 * (after + 1)
    assert size == target.stat().st_size
    assert (await check_store(target)).problems == ()
    async with open_store(target) as store:
        await store.write(partial(save, record=case("new")))
    assert sorted(path.name for path in small_store.parent.glob("*.part")) == []


async def test_a_backup_of_a_store_at_rest_holds_every_row(small_store: Path) -> None:
    target = small_store.parent / "backup.db"
    await back_up(small_store, target)
    assert contents(target) == contents(small_store)


async def test_an_existing_target_is_refused_and_kept(small_store: Path) -> None:
    target = small_store.parent / "precious"
    target.write_text("do not lose me")
    with pytest.raises(ConflictError, match="already exists") as caught:
        await back_up(small_store, target)
    assert "another name" in caught.value.remedy
    said = await told(small_store.parent, "db", "backup", str(target), "--db", str(small_store))
    assert (said.code, said.out) == (2, "")
    assert target.read_text() == "do not lose me"


def test_a_file_that_came_since_the_check_is_kept(tmp_path: Path) -> None:
    half, target = tmp_path / "half", tmp_path / "precious"
    half.write_text("a copy")
    target.write_text("do not lose me")
    with pytest.raises(ConflictError, match="already exists"):
        settle(half, target)
    assert target.read_text() == "do not lose me"


async def test_a_missing_store_and_a_missing_folder_are_told(small_store: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        await back_up(small_store.parent / "none.db", small_store.parent / "backup.db")
    with pytest.raises(StoreError, match="cannot be used"):
        await back_up(small_store, small_store.parent / "none" / "backup.db")
    assert not (small_store.parent / "backup.db").exists()


async def test_a_backup_that_is_cancelled_leaves_no_half_file(small_store: Path) -> None:
    """Cancelled at once, and while the copy is being written: under the name stands a whole store or nothing."""
    async with open_store(small_store) as store:
        for number in range(10):
            big = minion(f"big{number}", "prompt-version", content="x" * 1_000_000, versionNumber=1)
            await store.write(partial(save, record=big))
    target = small_store.parent / "backup.db"
    with anyio.move_on_after(0):
        await back_up(small_store, target)
    assert not target.exists()

    half = list[Path]()
    with anyio.fail_after(HANG_S), anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(back_up, small_store, target)
            while not (half or target.exists()):
                await anyio.lowlevel.checkpoint()
                half = list(small_store.parent.glob(".*.part"))
            scope.cancel()
    assert list(small_store.parent.glob(".*.part")) == []
    if target.exists():
        assert (await check_store(target)).problems == ()


async def test_a_backup_for_which_there_is_no_room_leaves_nothing(small_store: Path) -> None:
    target = small_store.parent / "backup.db"
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));"
        "from minions_evals_mcp.cli.app import main; main()"
    )
    said = await ran(
        small_store.parent, sys.executable, "-c", limited, "db", "backup", str(target), "--db", str(small_store)
    )
    assert said.code == 3
    assert said.err.startswith("Error: the store")
    assert "Traceback" not in said.err
    assert not target.exists()
    assert list(small_store.parent.glob(".*.part")) == []
    assert (await check_store(small_store)).problems == ()
