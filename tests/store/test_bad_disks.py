"""Disks that are full, read-only or damaged: a clear error, and nothing lost that was committed."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.store import records
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.connection import Db, open_raw
from minions_evals_mcp.store.database import open_store
from tests.shared.presentation.typed import typed
from tests.shared.store.command_line import ran, told
from tests.shared.store.small_store import contents
from tests.workshop import case, config_in, minion, opened, save

HOSTILE = ("-m", "tests.store.hostile_disk")
NOBODY = 65534
Answer = dict[str, object]


async def hostile(home: Path, *command: str) -> Answer:
    """The one JSON line that the program printed."""
    said = await ran(home, *command)
    assert said.code == 0, said
    assert "Traceback" not in said.err
    found: Answer = json.loads(said.out)
    return found


async def test_a_full_file_refuses_the_write_keeps_the_rest_and_goes_on_when_there_is_room(small_store: Path) -> None:
    async with open_store(small_store) as store:
        pages: int = await store.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
        await store.write(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 20}").fetchone())

        def small(db: Db, number: int) -> None:
            records.save(db, minion(f"small{number}", "prompt-version", content="x" * 3000, versionNumber=1))

        done = 0
        with pytest.raises(StoreError, match="full") as caught:
            for number in range(100):
                await store.write(lambda db, number=number: small(db, number))
                done += 1
        assert 0 < done < 100
        assert "free some space" in caught.value.remedy
        kept = await store.read(lambda db: records.page(db, "prompt-version", limit=1000))
        assert len(kept) == 3 + done
        await store.write(lambda db: db.execute("PRAGMA max_page_count = 1000000").fetchone())
        await store.write(lambda db: small(db, 100))
    assert (await check_store(small_store)).problems == ()


async def test_a_file_that_must_not_grow_keeps_what_was_acknowledged(small_store: Path) -> None:
    """The kernel refuses the growth (RLIMIT_FSIZE), in a process of its own."""
    said = await hostile(small_store.parent, sys.executable, *HOSTILE, str(small_store), "20", "-1", "5000000")
    assert said["type"] == "StoreError"
    assert isinstance(said["done"], int)
    assert 0 < said["done"] < 20
    assert said["kept"] == 3 + said["done"]
    assert said["problems"] == []
    assert said["remedy"]


async def test_a_full_disk_keeps_what_was_acknowledged(tmp_path: Path) -> None:
    """A real file system of six megabytes, in a mount namespace that ends with the process."""
    folder = tmp_path / "disk"
    folder.mkdir()
    inside = f"mount -t tmpfs -o size=6m tmpfs {folder} && exec {sys.executable} {' '.join(HOSTILE)} {folder}/evals.db 20 -1 -1"
    private = ("unshare", "--mount") if os.geteuid() == 0 else ("unshare", "--mount", "--map-root-user")
    if (
        shutil.which("unshare") is None
        or (await ran(tmp_path, *private, "mount", "-t", "tmpfs", "x", str(folder))).code
    ):
        pytest.skip("this machine lets nobody mount a small file system")
    said = await hostile(tmp_path, *private, "sh", "-c", inside)
    assert said["type"] == "StoreError"
    assert "full" in str(said["message"])
    assert "free some space" in str(said["remedy"])
    assert isinstance(said["done"], int)
    assert 0 < said["done"] < 20
    assert said["kept"] == said["done"]
    assert said["problems"] == []


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another user can reach (pytest's own cannot be entered)."""
    folder = Path(tempfile.mkdtemp(prefix="minions-evals-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def set_mode(path: Path, mode: int) -> None:
    """Who may do what with the file or folder."""
    path.chmod(mode)


def copied(store: Path, folder: Path) -> Path:
    """A copy of the store in that folder."""
    return Path(shutil.copy(store, folder / "evals.db"))


def as_nobody() -> str:
    """The user that has no rights here: root would have them all."""
    return str(NOBODY) if os.geteuid() == 0 else "-1"


async def test_a_read_only_file_refuses_the_write_and_stays_as_it_was(small_store: Path, open_folder: Path) -> None:
    path = copied(small_store, open_folder)
    set_mode(open_folder, 0o777)
    set_mode(path, 0o444)
    before = contents(path)
    said = await hostile(open_folder, sys.executable, *HOSTILE, str(path), "1", as_nobody(), "-1")
    assert said["type"] == "StoreError"
    assert said["done"] == 0
    assert "read-only" in str(said["remedy"])
    set_mode(path, 0o644)
    assert contents(path) == before


async def test_a_read_only_folder_refuses_the_write(small_store: Path, open_folder: Path) -> None:
    path = copied(small_store, open_folder)
    set_mode(path, 0o444)
    set_mode(open_folder, 0o555)
    said = await hostile(small_store.parent, sys.executable, *HOSTILE, str(path), "1", as_nobody(), "-1")
    assert said["type"] == "StoreError"
    assert said["done"] == 0
    assert said["remedy"]


async def test_a_read_only_folder_takes_no_new_store(small_store: Path, open_folder: Path) -> None:
    set_mode(open_folder, 0o555)
    path = open_folder / "new.db"
    said = await hostile(small_store.parent, sys.executable, *HOSTILE, str(path), "1", as_nobody(), "-1")
    assert said["type"] == "StoreError"
    assert str(path) in str(said["message"])
    assert "its folder is read-only" in str(said["remedy"])
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("missing/new.db", "check that its folder exists"),
        ("file/new.db", "check that its folder exists"),
        ("n" * 300, "--db"),
    ],
)
def test_a_new_store_at_a_place_that_takes_no_file_is_refused_with_the_way_out(
    tmp_path: Path, name: str, remedy: str
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be used") as refused:
        open_raw(tmp_path / name)
    assert remedy in typed(refused.value.remedy_text)


def spoil(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Changes the first page of that table or index in the file."""
    with closing(open_raw(path, read_only=True)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        row = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    start = 0 if row is None else (row[0] - 1) * size
    with path.open("r+b") as file:
        file.seek(start)
        changed = change(file.read(size))
        assert len(changed) == size
        file.seek(start)
        file.write(changed)


async def test_a_damaged_table_is_told_and_the_others_are_still_read(small_store: Path) -> None:
    async with open_store(small_store) as store:
        runs = await store.read(lambda db: records.page(db, "test-run"))
    spoil(small_store, "minion", lambda page: b"\xde\xad\xbe\xef" * 25 + page[100:])
    with pytest.raises(StoreError, match="malformed"):
        await check_store(small_store)
    async with open_store(small_store) as store:
        with pytest.raises(StoreError, match="malformed") as caught:
            await store.read(lambda db: records.page(db, "test-case"))
        assert "restore the newest" in caught.value.remedy
        with pytest.raises(StoreError, match="malformed"):
            await store.write(
                lambda db: records.save(db, minion("new", "prompt-version", content="x", versionNumber=1))
            )
        assert await store.read(lambda db: records.page(db, "test-run")) == runs


async def test_a_damaged_schema_page_is_an_error_with_what_to_do(small_store: Path) -> None:
    spoil(small_store, "sqlite_schema", lambda page: page[:100] + b"\xff" * 2000 + page[2100:])
    for verb in (("db", "check"), ("list", "test-case"), ("db", "backup", str(small_store.parent / "copy.db"))):
        said = await told(small_store.parent, *verb, "--db", str(small_store))
        assert said.code == 3, said
        assert said.err.startswith("Error: ")
        assert "restore the newest" in said.err
        assert "Traceback" not in said.err
    assert not (small_store.parent / "copy.db").exists()


async def test_a_damaged_index_that_still_can_be_read_is_named_by_the_deep_check_and_the_exit_is_3(
    small_store: Path,
) -> None:
    spoil(small_store, "test_run_history", lambda page: page.replace(b"c1", b"c9"))
    said = await told(small_store.parent, "db", "check", "--deep", "--db", str(small_store))
    assert said.code == 3
    assert "problem: integrity: " in said.out
    assert "Traceback" not in said.err


async def test_a_truncated_file_is_told(small_store: Path) -> None:
    os.truncate(small_store, 100_000)
    said = await told(small_store.parent, "db", "check", "--db", str(small_store))
    assert said.code == 3
    assert "Traceback" not in said.out + said.err


def beside(folder: Path) -> list[str]:
    """The files that SQLite has made beside the store."""
    return [file.name for file in folder.iterdir() if file.name.startswith("evals.db-")]


async def test_a_store_that_cannot_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_raw(tmp_path / "new.db").close()
    assert stat.S_IMODE((tmp_path / "new.db").stat().st_mode) == 0o600
    async with opened(config_in(tmp_path)) as engine:
        await save(engine, case("c1"))
    assert beside(tmp_path) == []
    allowed = os.access

    def access(file: Path, mode: int) -> bool:
        return Path(file) != tmp_path and allowed(file, mode)

    monkeypatch.setattr(os, "access", access)
    async with opened(config_in(tmp_path)) as engine:
        assert await engine.store.read(lambda db: records.count(db, "test-case", most=9)) == 1
        with pytest.raises(StoreError, match="open read-only"):
            await save(engine, case("c2"))
        assert beside(tmp_path) == []
