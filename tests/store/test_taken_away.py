"""A store that is deleted, moved or replaced while a run is under way: the run says so and does not end as if it were saved."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.errors import StoreError
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.records import counts
from tests.shared.store.command_line import told
from tests.store.test_database import names, noted
from tests.workshop import case, minion

CASES: list[JsonValue] = [f"c{number}" for number in range(4)]
ASSERTIONS: list[JsonValue] = [{"type": "contains", "value": "hello"}]
WAYS = {
    "deleted": "for end in ('', '-wal', '-shm'): pathlib.Path(db + end).unlink(missing_ok=True)",
    "moved": "os.rename(db, db + '.elsewhere')",
    "replaced": "shutil.copy(db, db + '.copy'); os.replace(db + '.copy', db)",
    "its folder moved": "os.rename(os.path.dirname(db), os.path.dirname(db) + '-moved')",
    "its log deleted": "os.unlink(db + '-wal')",
}


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be taken away there")
@pytest.mark.parametrize("way", WAYS)
async def test_a_run_whose_store_is_taken_away_ends_with_an_error(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    db, program, suite = folder / "evals.db", tmp_path / "target.py", tmp_path / "suite.json"
    program.write_text(
        f"import os, pathlib, shutil, sys\ndb, mark = {str(db)!r}, {str(tmp_path / 'mark')!r}\n"
        f"if not os.path.exists(mark):\n    open(mark, 'w').close()\n    {WAYS[way]}\nprint('hello')\n",
        "utf-8",
    )
    records = [case(str(one), assertions=ASSERTIONS).wire() for one in CASES]
    records.append(minion("all", "benchmark", name="all", testCaseIds=CASES).wire())
    suite.write_text(json.dumps(records), "utf-8")
    assert (await told(tmp_path, "import", str(suite), "--db", str(db))).code == 0
    target = f"command:{sys.executable} {program}"
    said = await told(tmp_path, "run", "all", "--db", str(db), "--concurrency", "1", "--target", target)
    assert said.code == 3, said
    assert str(db) in said.err
    assert "while it was open" in said.err
    assert "Traceback" not in said.err
    assert "saved in" not in said.out


def moved(path: Path) -> None:
    path.rename(f"{path}.moved")


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be taken away there")
@pytest.mark.parametrize("take", [Path.unlink, moved], ids=["deleted", "moved"])
async def test_reads_and_writes_of_a_store_that_was_taken_away_are_refused_and_write_nothing(
    tmp_path: Path, take: Callable[[Path], object]
) -> None:
    path = tmp_path / "evals.db"
    async with open_store(path) as store:
        await store.write(noted("before"))
        take(path)
        for asked in (lambda: store.write(noted("after")), lambda: store.read(names), lambda: store.read_whole(counts)):
            with pytest.raises(StoreError, match="was deleted or moved while it was open"):
                await asked()
        assert await store.reader.run(names) == ["before"]


async def test_a_store_that_other_processes_open_write_and_back_up_is_not_taken_for_another(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    async with open_store(path) as store:
        for number in range(3):
            await store.write(noted(f"n{number}"))
            async with open_store(path) as other:
                await other.write(noted(f"o{number}"))
            assert (await told(tmp_path, "db", "check", "--db", str(path))).code == 0
            copy = tmp_path / f"copy{number}.db"
            assert (await told(tmp_path, "db", "backup", str(copy), "--db", str(path))).code == 0
            shutil.copy(copy, tmp_path / "beside.db")
        assert len(await store.read(names)) == 6


async def test_a_store_named_by_a_relative_path_is_the_same_after_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_store(Path("evals.db")) as store:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        await store.write(noted("a"))
        assert await store.read(names) == ["a"]
