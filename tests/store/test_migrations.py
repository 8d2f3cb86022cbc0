"""The schema as numbered files, and the files that are refused because they are not ours."""

from __future__ import annotations

import sqlite3  # noqa: TID251  another program's SQLite
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.errors import StoreError, StoreVersionError
from minions_evals_mcp.store import row_digests
from minions_evals_mcp.store.backup import back_up
from minions_evals_mcp.store.check import check_store
from minions_evals_mcp.store.connection import APPLICATION_ID, STATEMENTS, Db, make_durable, open_raw
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.jobs import units
from minions_evals_mcp.store.migrate import migrate, migrations, statements, vet_version
from tests.shared.presentation.typed import typed
from tests.shared.store.command_line import told
from tests.shared.store.small_store import raw

NEWEST = migrations()[-1][0]
Schema = list[tuple[str, str, str | None]]


def schema(db: Db) -> Schema:
    """Everything that the schema consists of."""
    return db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


def built_to(path: Path, version: int) -> None:
    """Makes the file as the version of this program did whose newest migration was that one."""
    with closing(open_raw(path)) as db:
        make_durable(db)
        for number, script in migrations():
            if number <= version:
                for statement in statements(script):
                    db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("version", [0, *(number for number, _ in migrations())])
def test_a_fresh_schema_and_one_migrated_from_every_version_agree(tmp_path: Path, version: int) -> None:
    fresh, old = tmp_path / "fresh.db", tmp_path / "old.db"
    if version:
        built_to(old, version)
    found: list[Schema] = []
    for path in (fresh, old):
        with closing(open_raw(path)) as db:
            migrate(db, path)
            found.append(schema(db))
            assert db.execute("PRAGMA user_version").fetchone()[0] == NEWEST
            assert db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    assert found[0] == found[1]
    assert len(found[0]) > 50


def test_migrations_are_numbered_without_gaps_and_split_into_whole_statements() -> None:
    assert [number for number, _ in migrations()] == list(range(1, NEWEST + 1))
    for _, script in migrations():
        assert "\n".join(statements(script)).split() == script.split()


def test_every_table_is_strict_and_every_result_is_guarded_against_change(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    with closing(open_raw(path)) as db:
        migrate(db, path)
        kinds = db.execute(
            "SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        assert {name for name, strict in kinds if not strict} == set()
        guarded = {row[0] for row in db.execute("SELECT DISTINCT tbl_name FROM sqlite_schema WHERE type = 'trigger'")}
    assert guarded == {
        "minion", "test_run", "eval_failure", "eval_judgment", "metric_score", "benchmark_run", "eval_metric",
        "prompt_comparison", "approval", "test_branch_execution", "outbox", "event", "unit", "verdict", "inbox", "delivery",
        "agent_cursor", "person", "handed_in", "named_current", "relation", "expected", "judge_licence", "probe_verdict",
        "explained_day", "failure_cause", "audit", "seal", "sealed_case", "sealed_run", "sealed_output", "exposure", "exposed_case",
        "user_label", "output_note",
    }  # fmt: skip


def test_migrating_twice_changes_nothing(small_store: Path) -> None:
    with closing(open_raw(small_store)) as db:
        before = (schema(db), db.total_changes)
        migrate(db, small_store)
        assert (schema(db), db.total_changes) == before


def test_logs_of_older_stores_count_as_recorded_only_where_that_was_said(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    built_to(path, 3)
    kept = {
        "silent": '{"output":{}}',
        "none": '{"output":{},"hasLog":true}',
        "one": '{"output":{},"toolCalls":[{"tool":"t"}],"hasLog":true}',
    }
    with closing(open_raw(path)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        fields = '{"agentId":"a","status":"success","toolCallsLog":%s}'
        for ident, log in (("r0", "[]"), ("r1", '[{"tool":"t"}]')):
            values = (ident, ident, fields % log)
            db.execute(
                "INSERT INTO minion VALUES (NULL, ?, 'agent-run', ?, ?, '[]', 'active', 'd', 1, 1, NULL, NULL)", values
            )
        db.execute("INSERT INTO job VALUES ('j', 'j', 'benchmark', 'b', '{}', 'running', '', '{}', 3, 1, 1)")
        for place, (case_id, output) in enumerate(kept.items()):
            values = (place, case_id, output)
            db.execute("INSERT INTO unit (job_id, position, trial, case_id, output) VALUES ('j', ?, 1, ?, ?)", values)
        migrate(db, path)
        logs = dict(db.execute("SELECT id, fields -> '$.toolCallsLog' FROM minion").fetchall())
        calls = [row.observed.tool_calls if row.observed else "" for row in units(db, "j", first=0, last=3).values()]
    assert logs == {"r0": "null", "r1": '[{"tool":"t"}]'}
    assert calls == [None, (), (ToolCall(tool="t"),)]


def put(path: Path, content: bytes) -> None:
    """Makes the file hold that, and nothing of a log or an index stand beside it."""
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(content)


def held(path: Path) -> bytes:
    """What the file holds."""
    return path.read_bytes()


def fingerprint(folder: Path) -> dict[str, str]:
    """What every file of the folder holds, but for the index and the empty log that a reader of a WAL file leaves."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return {name: sha256(held).hexdigest() for name, held in files.items() if held and not name.endswith("-shm")}


async def refused(path: Path, match: str) -> StoreError:
    """The refusal of that file, which is the same for every way to open it and leaves the folder as it was."""
    before = fingerprint(path.parent)
    for read_only in (True, False):
        with pytest.raises(StoreError, match=match):
            async with open_store(path, read_only=read_only):
                pass
        assert fingerprint(path.parent) == before
    with pytest.raises(StoreError, match=match):
        await back_up(path, path.parent / "backup.db")
    with pytest.raises(StoreError, match=match) as caught:
        await check_store(path)
    assert fingerprint(path.parent) == before
    assert caught.value.remedy
    return caught.value


async def test_a_newer_schema_is_refused_and_not_opened(small_store: Path) -> None:
    with raw(small_store) as db:
        db.execute(f"PRAGMA user_version = {NEWEST + 1}")
    error = await refused(small_store, f"has schema {NEWEST + 1}; this version supports up to {NEWEST}")
    assert isinstance(error, StoreVersionError)
    assert "pip install -U" in error.remedy


async def test_another_programs_file_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
        db.execute("INSERT INTO recipes VALUES ('soup')")
        db.commit()
    error = await refused(path, "an SQLite file of another program")
    assert "--db" in typed(error)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT name FROM recipes").fetchall() == [("soup",)]
        assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)


async def test_a_file_with_another_programs_mark_is_refused_even_when_it_holds_no_table(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 42")
    await refused(path, "an SQLite file of another program")


async def test_a_file_of_garbage_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "garbage.db"
    path.write_bytes(b"this is a letter to my aunt, not a database\n" * 500)
    error = await refused(path, "not a database")
    assert "restore a backup" in error.remedy


async def test_an_emptied_file_beside_its_log_is_refused(small_store: Path) -> None:
    """SQLite would open it as a new database, and the log's rows would be gone."""
    with raw(small_store) as db:
        db.execute("UPDATE job SET reason = 'in the log'")
        db.commit()
        log = held(small_store.with_name(small_store.name + "-wal"))
    assert log
    put(small_store, b"")
    put(small_store.with_name(small_store.name + "-wal"), log)
    with pytest.raises(StoreVersionError, match="is empty, but") as caught:
        async with open_store(small_store):
            pass
    assert "Keep both files" in caught.value.remedy
    assert held(small_store) == b""
    assert held(small_store.with_name(small_store.name + "-wal")) == log


@pytest.mark.parametrize("verb", ["check", "backup", "read"])
async def test_an_empty_file_holds_no_store_to_read(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(StoreVersionError, match="is empty"):
        if verb == "check":
            await check_store(path)
        elif verb == "backup":
            await back_up(path, tmp_path / "backup.db")
        else:
            async with open_store(path, read_only=True):
                pass
    assert path.stat().st_size == 0


async def test_an_empty_file_becomes_a_store_when_it_is_opened_to_write(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    async with open_store(path):
        pass
    assert (await check_store(path)).problems == ()


async def test_an_older_store_is_not_read_before_it_is_migrated(small_store: Path) -> None:
    with raw(small_store) as db:
        db.execute(f"PRAGMA user_version = {NEWEST - 1}")
    with pytest.raises(StoreVersionError, match=f"older schema {NEWEST - 1}|is empty|another program"):
        async with open_store(small_store, read_only=True):
            pass


@pytest.mark.parametrize("content", [b"", b"no database at all " * 300, b"SQLite format 3\0 and then nonsense " * 200])
@pytest.mark.parametrize("verb", [("db", "check"), ("list", "test-case"), ("db", "backup", "/nowhere/copy.db")])
async def test_no_file_makes_the_command_line_show_a_traceback(
    tmp_path: Path, content: bytes, verb: tuple[str, ...]
) -> None:
    path = tmp_path / "bad.db"
    path.write_bytes(content)
    said = await told(tmp_path, *verb, "--db", str(path))
    if content or verb[0] == "db":
        assert said.code == 3
        assert said.err.startswith("Error: ")
        assert said.err.count("\n") >= 2
    assert "Traceback" not in said.out + said.err


def test_a_connection_keeps_more_prepared_statements_than_opening_and_using_the_file_takes(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    spoken: set[str] = set()
    with closing(open_raw(path)) as db:
        db.set_trace_callback(spoken.add)
        make_durable(db)
        migrate(db, path)
        row_digests.keep(db)
    assert 128 < len(spoken) < STATEMENTS / 2, "two statements that find no room are prepared anew at every call"


def test_a_store_that_another_process_is_just_making_is_not_taken_for_another_programs(tmp_path: Path) -> None:
    path = tmp_path / "evals.db"
    with closing(open_raw(path)) as first, closing(open_raw(path)) as other:
        make_durable(first)
        begun: list[str] = []

        def made_meanwhile(statement: str) -> None:
            if statement == "PRAGMA user_version" and not begun:
                begun.append(statement)
                migrate(other, path)

        first.set_trace_callback(made_meanwhile)
        assert vet_version(first, path) == 0, "as it stood when it was looked at"
        first.set_trace_callback(None)
        assert vet_version(first, path) == migrations()[-1][0]
