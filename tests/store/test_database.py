"""One writer that commits in groups; readers that see committed data only; callers that are cancelled."""

from __future__ import annotations

import asyncio  # noqa: TID251 - only its tasks can be cancelled past every scope
import json
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from minions_evals_mcp.errors import ConflictError, RuleError, StoreError
from minions_evals_mcp.store.connection import Connection, Db, library_version, open_raw, sqlite, wal_is_safe
from minions_evals_mcp.store.database import GROUP, Store, open_store, remove_unused
from minions_evals_mcp.store.events import Event, append
from minions_evals_mcp.store.rows import insert
from tests.hang import HANG_S
from tests.shared.presentation.typed import typed
from tests.shared.store.command_line import told
from tests.shared.store.small_store import START, execution, failure
from tests.workshop import case

SQLITE_TRANSACTION = 22
"""The authorizer's code for BEGIN, COMMIT and ROLLBACK."""


def noted(name: str) -> Callable[[Db], str]:
    """A write that appends an event of that name and returns it."""

    def work(db: Db) -> str:
        append(db, Event(name, "test", "x", {}), at=START)
        return name

    return work


def names(db: Db) -> list[str]:
    """The names of all events in order."""
    return [row[0] for row in db.execute("SELECT type FROM event ORDER BY seq")]


@asynccontextmanager
async def held(store: Store) -> AsyncGenerator[None]:
    """The writer is busy with a write named "held" until the block ends, so that what is queued meanwhile is one group."""
    begun, release = anyio.Event(), threading.Event()
    loop = anyio.lowlevel.current_token()

    def work(db: Db) -> None:
        append(db, Event("held", "test", "x", {}), at=START)
        anyio.from_thread.run_sync(begun.set, token=loop)
        assert release.wait(HANG_S)

    ticket = await store.submit(work)
    try:
        with anyio.fail_after(HANG_S):
            await begun.wait()
        yield
    finally:
        release.set()
        with anyio.CancelScope(shield=True), anyio.fail_after(HANG_S):
            await ticket.result()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(tmp_path / "evals.db") as store:
        yield store


def test_the_library_in_use_lacks_the_wal_reset_bug() -> None:
    assert wal_is_safe()
    assert library_version() == sqlite.sqlite_version


@pytest.mark.parametrize(
    ("version", "safe"),
    [((3, 40, 1), False), ((3, 51, 2), False), ((3, 51, 3), True), ((3, 50, 6), False), ((3, 50, 7), True),
     ((3, 44, 6), True), ((3, 45, 0), False), ((3, 53, 0), True)],
)  # fmt: skip
def test_a_version_with_the_bug_never_shares_a_log(version: tuple[int, int, int], safe: bool) -> None:
    assert wal_is_safe(version) is safe


async def test_callers_that_wait_together_are_committed_together(store: Store) -> None:
    seen: list[str] = []
    async with held(store):
        await store.submit(lambda db: db.set_trace_callback(seen.append))
        tickets = [await store.submit(noted(f"n{number}")) for number in range(50)]
    with anyio.fail_after(HANG_S):
        assert [await ticket.result() for ticket in tickets] == [f"n{number}" for number in range(50)]
    assert seen.count("COMMIT") == 1
    assert await store.read(names) == ["held", *(f"n{number}" for number in range(50))]


async def test_a_caller_that_fails_takes_nobody_with_it(store: Store) -> None:
    def wrong(db: Db) -> None:
        append(db, Event("half-written", "test", "x", {}), at=START)
        raise ValueError("a caller's own mistake")

    def refused(db: Db) -> None:
        append(db, Event("half-written", "test", "x", {}), at=START)
        insert(db, execution("twice"))
        insert(db, execution("twice"))

    async with held(store):
        tickets = [await store.submit(work) for work in (noted("a"), wrong, noted("b"), refused, noted("c"))]
    with anyio.fail_after(HANG_S):
        with pytest.raises(ValueError, match="a caller's own mistake"):
            await tickets[1].result()
        with pytest.raises(RuleError, match="written already"):
            await tickets[3].result()
        assert [await tickets[at].result() for at in (0, 2, 4)] == ["a", "b", "c"]
    assert await store.read(names) == ["held", "a", "b", "c"]


async def test_a_reference_that_breaks_at_the_commit_stops_its_own_caller_only(store: Store) -> None:
    def stray(db: Db) -> str:
        insert(db, failure("not-there"))
        return "stray"

    async with held(store):
        tickets = [await store.submit(work) for work in (noted("a"), stray, noted("b"))]
    with anyio.fail_after(HANG_S):
        with pytest.raises(ConflictError, match="FOREIGN KEY"):
            await tickets[1].result()
        assert [await tickets[at].result() for at in (0, 2)] == ["a", "b"]
    assert await store.read(names) == ["held", "a", "b"]
    assert await store.read(lambda db: db.execute("SELECT count(*) FROM eval_failure").fetchone()) == (0,)


async def test_an_error_of_the_commit_reaches_every_caller_and_the_writer_goes_on(store: Store) -> None:
    def no_commit(db: Db) -> None:
        def allowed(action: int, name: str | None, *_: str | None) -> int:
            return sqlite.SQLITE_DENY if (action, name) == (SQLITE_TRANSACTION, "COMMIT") else sqlite.SQLITE_OK

        db.set_authorizer(allowed)

    async with held(store):
        pass
    errors: list[Exception] = []

    async def write(work: Callable[[Db], object]) -> None:
        with pytest.raises(StoreError, match="not authorized") as caught:
            await store.write(work)
        errors.append(caught.value)

    async with anyio.create_task_group() as tasks:
        for work in (no_commit, noted("a"), noted("b")):
            tasks.start_soon(write, work)
    assert len(errors) == 3
    await store.write(lambda db: db.set_authorizer(None))
    assert await store.write(noted("after")) == "after"
    assert await store.read(names) == ["held", "after"]


async def test_readers_see_a_write_only_when_it_is_committed(store: Store) -> None:
    async with held(store):
        with anyio.fail_after(HANG_S):
            assert await store.read(names) == []
    assert await store.read(names) == ["held"]


async def test_a_read_stays_on_its_snapshot_while_others_commit(store: Store) -> None:
    """A read that looks twice sees the same rows, although a write was committed in between."""
    begun, release = anyio.Event(), threading.Event()
    loop = anyio.lowlevel.current_token()

    def twice(db: Db) -> tuple[list[str], list[str]]:
        first = names(db)
        anyio.from_thread.run_sync(begun.set, token=loop)
        assert release.wait(HANG_S)
        return first, names(db)

    seen: list[tuple[list[str], list[str]]] = []

    async def read() -> None:
        seen.append(await store.read(twice))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await begun.wait()
            await store.write(noted("meanwhile"))
            release.set()
    assert seen == [([], [])]
    assert await store.read(names) == ["meanwhile"]


async def test_a_read_that_fails_leaves_the_reader_usable(store: Store) -> None:
    with pytest.raises(StoreError, match="no such table"):
        await store.read(lambda db: db.execute("SELECT * FROM nowhere"))
    assert await store.read(names) == []


async def test_a_read_that_lets_an_iterator_run_out_is_told_and_does_not_hang(store: Store) -> None:
    with anyio.fail_after(HANG_S), pytest.raises(RuntimeError, match="StopIteration"):
        await store.read(lambda _: next(iter(())))


async def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError, match="readonly") as caught:
        await store.read(noted("smuggled"))
    assert "read-only" in caught.value.remedy
    assert await store.read(names) == []


async def test_a_caller_cancelled_while_its_write_runs_leaves_no_transaction_open(tmp_path: Path) -> None:
    """The write itself is committed; another store on the file is not locked out."""
    path = tmp_path / "evals.db"
    async with open_store(path) as store, open_store(path) as other:
        async with held(store):
            await store.submit(noted("before"))
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(store.write, noted("cancelled"))
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()
        with anyio.fail_after(HANG_S):
            assert await other.write(noted("other")) == "other"
        await store.write(noted("after"))  # its own queue is served in order, so what was cancelled is settled by now
        assert sorted(await store.read(names)) == ["after", "before", "cancelled", "held", "other"]


async def test_a_caller_cancelled_before_its_write_is_queued_writes_nothing(store: Store) -> None:
    async with held(store):
        tickets = [await store.submit(noted(f"n{number}")) for number in range(GROUP)]
        with anyio.move_on_after(0.01) as scope:
            await store.submit(noted("no room"))
        assert scope.cancelled_caught
    with anyio.fail_after(HANG_S):
        await tickets[-1].result()
    assert await store.read(names) == ["held", *(f"n{number}" for number in range(GROUP))]


async def test_closing_commits_what_is_queued(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    async with open_store(path) as store:
        for number in range(20):
            await store.submit(noted(f"n{number}"))
    async with open_store(path, read_only=True) as store:
        assert await store.read(names) == [f"n{number}" for number in range(20)]


async def test_a_cancelled_owner_still_commits_what_is_queued(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    with anyio.fail_after(HANG_S), anyio.CancelScope() as scope:
        async with open_store(path) as store:
            for number in range(20):
                await store.submit(noted(f"n{number}"))
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    async with open_store(path) as store:
        assert await store.read(names) == [f"n{number}" for number in range(20)]


def test_what_is_queued_is_committed_and_told_though_the_loop_is_broken_off(tmp_path: Path) -> None:
    """As a second Ctrl-C does: the loop ends at once, and whatever was started is cancelled, shielded or not."""
    path = tmp_path / "evals.db"

    async def interrupted() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        async with open_store(path) as store, anyio.create_task_group() as tasks:
            may_go_on = threading.Event()
            first = await store.submit(lambda _: may_go_on.wait(HANG_S))
            await anyio.wait_all_tasks_blocked()
            second = await store.submit(noted("second"))
            tasks.start_soon(interrupted)
            try:
                await anyio.sleep_forever()
            finally:
                may_go_on.set()
                with anyio.fail_after(HANG_S, shield=True):
                    assert await first.result()
                    assert await second.result() == "second"

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main)
    with closing(open_raw(path, read_only=True)) as db:
        assert names(db) == ["second"]


def _writer() -> asyncio.Task[object]:
    """The task that writes, found by what it runs, as a loop that is broken off finds every task."""
    (task,) = (task for task in asyncio.all_tasks() if task.get_name().endswith("database._serve"))
    return task


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_a_write_queued_in_the_turn_in_which_the_writer_is_cancelled_natively_is_committed(
    store: Store, times: int
) -> None:
    writer = _writer()
    await anyio.wait_all_tasks_blocked()
    ticket = await store.submit(noted("in that turn"))
    for _ in range(times):
        writer.cancel()
    with anyio.fail_after(HANG_S):
        assert await ticket.result() == "in that turn"
        assert await store.write(noted("after")) == "after"
    assert await store.read(names) == ["in that turn", "after"]


async def test_a_writer_cancelled_natively_again_and_again_during_a_commit_answers_its_callers(store: Store) -> None:
    writer = _writer()
    async with held(store):
        ticket = await store.submit(noted("queued"))
        for _ in range(5):
            writer.cancel()
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
    with anyio.fail_after(HANG_S):
        assert await ticket.result() == "queued"
    assert await store.read(names) == ["held", "queued"]


def test_an_interrupt_that_strikes_the_writer_itself_leaves_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second Ctrl-C is raised wherever the loop happens to be."""
    said: list[str] = []

    async def struck(*_: object) -> None:
        await anyio.sleep(0.01)
        raise KeyboardInterrupt

    async def main() -> None:
        async with open_store(tmp_path / "evals.db") as store, anyio.create_task_group():
            monkeypatch.setattr(Connection, "run_whole", struck)
            tickets = [await store.submit(noted(name)) for name in ("a", "b")]
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    for ticket in tickets:
                        try:
                            await ticket.result()
                        except StoreError as error:
                            said.append(str(error))

    with pytest.raises(KeyboardInterrupt):
        anyio.run(main)
    assert len(said) == 2
    assert all("interrupted" in text for text in said)


async def test_the_order_of_those_who_wait_for_room_is_kept_and_one_cancelled_among_them_writes_nothing(
    store: Store,
) -> None:
    async with anyio.create_task_group() as tasks, held(store):
        for number in range(GROUP):
            await store.submit(noted(f"n{number}"))
        scopes: list[anyio.CancelScope] = []

        async def write(name: str) -> None:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                await store.write(noted(name))

        for name in ("first", "cancelled", "last"):
            tasks.start_soon(write, name)
            await anyio.wait_all_tasks_blocked()
        scopes[1].cancel()
        await anyio.wait_all_tasks_blocked()
    assert (await store.read(names))[GROUP + 1 :] == ["first", "last"]


async def test_what_waits_for_room_when_the_store_closes_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks, open_store(path) as store, held(store):
            for number in range(3 * GROUP):
                tasks.start_soon(store.write, noted(f"n{number}"))
            await anyio.wait_all_tasks_blocked()
            await store.close()
    async with open_store(path, read_only=True) as store:
        assert len(await store.read(names)) == 3 * GROUP + 1


async def test_a_closed_store_takes_no_more_writes(tmp_path: Path) -> None:
    async with open_store(tmp_path / "evals.db") as store:
        pass
    with pytest.raises(StoreError, match="is closed"):
        await store.write(noted("late"))


async def test_a_read_only_store_reads_and_refuses_to_write(small_store: Path) -> None:
    async with open_store(small_store, read_only=True) as store:
        assert len(await store.read(names)) > 10
        with pytest.raises(StoreError, match="open read-only") as caught:
            await store.write(noted("refused"))
    assert "--read-only" in typed(caught.value)


async def test_reading_a_file_that_is_missing_is_an_error_and_makes_none(tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    with pytest.raises(StoreError, match="unable to open"):
        async with open_store(path, read_only=True):
            pass
    assert os.listdir(tmp_path) == []  # noqa: PTH208  pathlib is banned in async functions


async def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b c?#" / "evals.db"
    async with open_store(path) as store:
        await store.write(noted("a"))
    assert path.exists()


async def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open") as caught:
        async with open_store(tmp_path):
            pass
    assert caught.value.remedy


async def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    os.close(os.open(tmp_path / "file", os.O_CREAT))
    with pytest.raises(StoreError, match="cannot be used") as caught:
        async with open_store(tmp_path / "file" / "evals.db"):
            pass
    assert caught.value.remedy


async def test_ours_is_the_durable_way_to_write(store: Store) -> None:
    """FULL and WAL: NORMAL lost acknowledged commits at power cuts (facts)."""

    def pragmas(db: Db) -> dict[str, object]:
        wanted = ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "trusted_schema", "mmap_size")
        return {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}

    assert await store.write(pragmas) == {
        "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "recursive_triggers": 1, "trusted_schema": 0,
        "mmap_size": 0,
    }  # fmt: skip


async def test_a_second_process_writes_after_a_caller_was_cancelled(tmp_path: Path) -> None:
    """The command line in a process of its own, on the file whose writer was asked by a cancelled caller."""
    path = tmp_path / "evals.db"
    suite = tmp_path / "suite.jsonl"
    suite.write_text(json.dumps(case("c1").wire()) + "\n", "utf-8")
    async with open_store(path) as store:
        with anyio.move_on_after(0):
            await store.write(noted("cancelled before"))
        async with held(store):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(store.write, noted("cancelled"))
                    await anyio.wait_all_tasks_blocked()
                    scope.cancel()
        with anyio.fail_after(HANG_S):
            said = await told(tmp_path, "import", str(suite), "--db", str(path))
        assert (said.code, said.err) == (0, "")
        assert await store.read(names) == ["held", "cancelled", "record-saved"]


async def test_a_store_in_which_nothing_was_written_can_be_removed_and_any_other_stays(tmp_path: Path) -> None:
    unused, used = tmp_path / "unused.db", tmp_path / "used.db"
    async with open_store(unused):
        assert not remove_unused(unused)  # somebody has it open
    async with open_store(used) as store:
        await store.write(noted("kept"))
    assert remove_unused(unused)
    assert not remove_unused(used)
    assert not remove_unused(unused)  # it is not there
    async with open_store(used) as store:
        assert await store.read(names) == ["kept"]


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
async def test_a_new_store_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        async with open_store(tmp_path / "new.db"):
            modes = _modes(tmp_path)
    finally:
        os.umask(before)
    assert modes["new.db"] == 0o600
    assert set(modes.values()) == {0o600}


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
async def test_a_store_that_is_made_where_a_link_leads_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "new.db")
    before = os.umask(0o022)
    try:
        async with open_store(tmp_path / "link.db") as store:
            await store.write(noted("a"))
            modes = _modes(tmp_path / "real")
    finally:
        os.umask(before)
    assert modes["new.db"] == 0o600
    assert set(modes.values()) == {0o600}
