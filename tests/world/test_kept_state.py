"""Databases and folders of worlds: mocked tools act on them, each unit on copies of its own, and checks read how they end."""

from __future__ import annotations

import html
import sys
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.querying.queries import QueryError
from minions_evals_mcp.domain.worlds import WorldServer
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store.worlds.databases import SqlError, answer, opened, script_problem
from minions_evals_mcp.world.holdings import MAX_FILE
from minions_evals_mcp.world.passing import real_server
from minions_evals_mcp.world.sessions import WorldSession
from minions_evals_mcp.world.units import ToolError
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.world.agents import REAL
from tests.shared.world.units import clock, unit, world
from tests.world.test_runs_in_worlds import passed, suite

SQL = (
    "CREATE TABLE orders(id TEXT PRIMARY KEY, total REAL, status TEXT);"
    "CREATE TABLE refunds(number INTEGER PRIMARY KEY AUTOINCREMENT, order_id TEXT UNIQUE REFERENCES orders(id), amount REAL);"
    "INSERT INTO orders VALUES ('A1', 40.5, 'paid'), ('A2', 7, 'paid');"
)
DESK: Json = {
    "desk": {
        "tools": [
            {
                "name": "get_order",
                "rules": [
                    {"select": "SELECT total, status FROM orders WHERE id = :id", "when": "rows", "result": "{{rows[0]}}"},
                    {"error": "There is no order {{arguments.id}}."},
                ],
            },
            {
                "name": "refund",
                "rules": [
                    {
                        "sql": [
                            "UPDATE orders SET status = 'refunded' WHERE id = :id",
                            "INSERT INTO refunds(order_id, amount) VALUES (:id, :amount) RETURNING number",
                        ],
                        "writes": [{"op": "append", "path": "log/{{arguments.id}}.txt", "content": "{{rows[0].number}}\n"}],
                        "result": {"number": "{{rows[0].number}}", "changed": "{{changed}}"},
                    }
                ],
            },
            {"name": "read", "rules": [{"file": "{{arguments.path}}", "when": "file", "result": "{{file}}"},
                                       {"result": {"there": "{{files}}"}}]},
            {"name": "write", "rules": [{"writes": [{"op": "write", "path": "{{arguments.path}}", "content": "{{arguments.text}}"}],
                                         "result": "written"}]},
            {"name": "remove", "rules": [{"writes": [{"op": "remove", "path": "{{arguments.path}}"}]}]},
            {"name": "spread", "rules": [{"sql": ["DELETE FROM orders WHERE id = 'A2'"],
                                          "writes": [{"op": "write", "path": "{{arguments.path}}"}]}]},
        ]
    }
}  # fmt: skip
HOLDS: Json = {"database": {"sql": SQL}, "folder": {"files": {"notes/a.md": "one\n"}}}
CHECKS: list[JsonValue] = [
    {"type": "state", "value": {"sql": "SELECT status FROM orders WHERE id = 'A1'", "equals": "refunded"}},
    {"type": "state", "value": {"sql": "SELECT order_id, amount FROM refunds", "contains": {"order_id": "A1"}}},
    {"type": "state", "value": {"sql": "SELECT sum(amount) FROM refunds", "min": 40, "max": 41}},
    {"type": "state", "value": {"file": "log/A1.txt", "equals": "1\n"}},
    {"type": "state", "value": {"file": "notes/a.md", "equals": None}},
]


def shop(**more: JsonValue) -> Json:
    return {"name": "Desk", "servers": DESK, **HOLDS, **more}


@pytest.mark.parametrize(
    ("acts", "told"),
    [
        ("world.call('refund', id='A1', amount=40.5); world.call('remove', path='notes/a.md')", ""),
        ("world.call('refund', id='A1', amount=400); world.call('remove', path='notes/a.md')",
         "SELECT sum(amount) FROM refunds is 400.0, wanted at most 41"),
        ("world.call('refund', id='A1', amount=40.5)", 'notes/a.md is "one\\n", wanted null'),
    ],
)  # fmt: skip
def test_a_run_judges_the_final_rows_and_files(at: Terminal, acts: str, told: str) -> None:
    suite(at, shop(), checks=CHECKS)
    at.file("app.py", f"def answer(q, world):\n    {acts}\n    return 'done'\n")
    ended = at.run("run-benchmark", "b", "--target", "python:app:answer", "--json")
    assert passed(ended) == (0 if told else 1), ended
    at.run("report", "b", "-o", "r.md")
    text = html.unescape((at.folder / "r.md").read_text("utf-8"))
    assert told.replace("\\", "") in text.replace("\\", "")


def test_each_unit_has_copies_of_its_own_and_they_are_gone_afterwards() -> None:
    record = world(DESK, **HOLDS)
    with unit(record) as one, unit(record, name="c:2") as other:
        assert one.call("refund", id="A1", amount=1) == {"number": 1, "changed": 2}
        one.call("write", path="notes/b.md", text="mine")
        assert one.call("get_order", id="A1") == {"total": 40.5, "status": "refunded"}
        assert other.call("get_order", id="A1") == {"total": 40.5, "status": "paid"}
        assert other.call("read", path="notes/b.md") == {"there": ["notes/a.md"]}
        assert one.call("read", path="notes/b.md") == "mine"
        places = [one.folder, one.database, other.folder]
        assert one.environment()["MINIONS_EVALS_WORLD_FOLDER"] == one.folder
        _, mine = one.ended(None, said="", given=None)
        _, others = other.ended(None, said="", given=None)
    assert not any(Path(place or "").exists() for place in places)
    assert mine.files == {"log/A1.txt": "1\n", "notes/a.md": "one\n", "notes/b.md": "mine"}
    assert answer(mine.database or "", "SELECT id FROM orders ORDER BY id") == ["A1", "A2"]
    assert answer(mine.database or "", "SELECT * FROM refunds") == [{"number": 1, "order_id": "A1", "amount": 1.0}]
    assert (others.files, answer(others.database or "", "SELECT * FROM refunds")) == ({"notes/a.md": "one\n"}, [])


def test_a_rule_is_carried_out_whole_or_not_at_all_and_the_agent_is_told() -> None:
    with unit(world(DESK, **HOLDS)) as acted_on:
        acted_on.call("refund", id="A1", amount=1)
        with pytest.raises(ToolError, match=r"UNIQUE constraint failed: refunds\.order_id"):
            acted_on.call("refund", id="A1", amount=2)
        with pytest.raises(ToolError, match=r"is not a path below the folder: it has a \.\. part"):
            acted_on.call("spread", path="../out.txt")
        with pytest.raises(ToolError, match="There is no order"):
            acted_on.call("get_order", id="A1' OR '1'='1")
        _, evidence = acted_on.ended(None, said="", given=None)
    assert evidence.misses == ()
    assert answer(evidence.database or "", "SELECT id, status FROM orders") == [
        {"id": "A1", "status": "refunded"}, {"id": "A2", "status": "paid"},
    ]  # fmt: skip
    assert evidence.files == {"log/A1.txt": "1\n", "notes/a.md": "one\n"}


@pytest.mark.parametrize("path", ["../x", "/etc/hostname", "a/../../x", "", "link/x", "notes/a.md/x", "linked.txt"])
def test_no_path_of_an_agent_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").write_text("outside", "utf-8")
    with unit(world(DESK, **HOLDS)) as acted_on:
        folder = Path(acted_on.folder or "")
        (folder / "link").symlink_to(tmp_path)
        (folder / "linked.txt").symlink_to(tmp_path / "x")
        with pytest.raises(ToolError):
            acted_on.call("write", path=path, text="harm")
        try:
            assert "outside" not in str(acted_on.call("read", path=path))
        except ToolError as error:
            assert "outside" not in str(error)
        _, evidence = acted_on.ended(None, said="", given=None)
    assert (tmp_path / "x").read_text("utf-8") == "outside"
    assert "outside" not in str(evidence.files)


def test_what_is_too_long_is_refused_to_the_agent() -> None:
    with unit(world(DESK, **HOLDS)) as acted_on, pytest.raises(ToolError, match="would be longer than"):
        acted_on.call("write", path="a", text="x" * (MAX_FILE + 1))


@pytest.mark.parametrize(
    ("fault", "refunds", "log"), [("duplicate", 2, "1\n2\n"), ("tool-error", 0, None), ("empty", 1, "1\n")]
)
def test_faults_act_on_rows_and_files_too(fault: str, refunds: int, log: str | None) -> None:
    sql = SQL.replace("TEXT UNIQUE", "TEXT")
    faults: JsonValue = [{"kind": fault, "tool": "refund", "nth": 1}]
    with unit(world(DESK, database={"sql": sql}, folder={}, faults=faults)) as acted_on:
        try:
            acted_on.call("refund", id="A1", amount=1)
        except ToolError:
            assert fault == "tool-error"
        _, evidence = acted_on.ended(None, said="", given=None)
    assert answer(evidence.database or "", "SELECT count(*) FROM refunds") == refunds
    assert (evidence.files or {}).get("log/A1.txt") == log


def test_a_call_whose_writing_was_cut_off_is_written_once_by_whoever_comes_next() -> None:
    with unit(world(DESK, **HOLDS)) as acted_on:
        folder = acted_on.session.folder
        before = (folder / "state.sqlite").read_bytes()
        acted_on.call("refund", id="A1", amount=1)
        acted_on.session.holdings.close()
        (folder / "state.sqlite").write_bytes(before)
        (folder / "files.written").unlink()
        (folder / "files" / "log" / "A1.txt").unlink()
        late = WorldSession(folder, clock=clock)
        for _ in range(2):
            dump, files = late.kept()
            assert answer(dump or "", "SELECT number FROM refunds") == 1
            assert (files or {})["log/A1.txt"] == "1\n"
        late.holdings.close()


def test_a_unit_that_goes_on_from_a_journal_has_the_same_rows_and_files() -> None:
    record = world(DESK, **HOLDS)
    with unit(record) as first, unit(record) as second:
        first.call("refund", id="A2", amount=7)
        first.call("remove", path="notes/a.md")
        second.session.take_up(first.session.journal())
        assert second.call("get_order", id="A2") == {"total": 7.0, "status": "refunded"}
        assert second.session.kept() == first.session.kept()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("ATTACH '/tmp/x.db' AS x", "ATTACH or VACUUM INTO is not allowed"),
        ("VACUUM INTO '/tmp/x.db'", "ATTACH or VACUUM INTO is not allowed"),
        ("PRAGMA writable_schema = ON", "PRAGMA is not allowed"),
        ("SELECT load_extension('x')", r"load_extension\(\) is not allowed"),
        ("SELECT zeroblob(900000000)", r"zeroblob\(\) is not allowed"),
        ("CREATE VIRTUAL TABLE f USING fts5(a)", "a virtual table is not allowed"),
        ("COMMIT", "BEGIN, COMMIT or ROLLBACK is not allowed"),
        ("SELECT 1; SELECT 2", "one statement at a time"),
        ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c", "takes too long"),
        ("SELEC", "syntax error"),
    ],
)
def test_what_a_statement_may_not_do_is_refused_by_name(statement: str, told: str) -> None:
    with closing(opened(":memory:")) as database, pytest.raises(SqlError, match=told):
        database.run(statement, {}, reads=False)


def test_a_check_changes_nothing() -> None:
    with pytest.raises(QueryError, match="a statement that changes something is not allowed"):
        answer(SQL, "WITH x AS (SELECT 1) DELETE FROM orders")


def test_a_dump_makes_the_same_database_again() -> None:
    script = SQL + (
        "CREATE TABLE 'odd \"name\"'(a BLOB, b AS (length(a)), c TEXT DEFAULT 'x''y');"
        "INSERT INTO 'odd \"name\"'(a) VALUES (x'00ff'), (NULL); CREATE INDEX i ON orders(total);"
        "INSERT INTO refunds(order_id, amount) VALUES ('A2', 1); CREATE VIEW v AS SELECT * FROM refunds;"
    )
    with closing(opened(":memory:")) as database:
        database.script(script)
        dump = database.dump() or ""
    assert script_problem(dump) is None
    with closing(opened(":memory:")) as again:
        again.script(dump)
        assert again.dump() == dump
    assert answer(dump, 'SELECT a, b, c FROM "odd ""name""" WHERE a IS NOT NULL') == [{"a": "00ff", "b": 2, "c": "x'y"}]
    assert answer(dump, "SELECT number FROM v") == 1


def test_database_and_folder_come_from_files_beside_the_project(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(SQL, "utf-8")
    with closing(opened(tmp_path / "shop.db")) as made:
        made.script(SQL)
    (tmp_path / "tree" / "notes").mkdir(parents=True)
    (tmp_path / "tree" / "notes" / "b.md").write_text("two", "utf-8")
    for file in ("shop.sql", "shop.db"):
        record = world(DESK, database={"file": file}, folder={"source": "tree", "files": {"notes/c.md": "three"}})
        with unit(record, base=tmp_path) as acted_on:
            assert acted_on.call("get_order", id="A2") == {"total": 7.0, "status": "paid"}
            acted_on.call("write", path="notes/b.md", text="changed")
            assert (acted_on.session.kept()[1] or {})["notes/c.md"] == "three"
    assert (tmp_path / "tree" / "notes" / "b.md").read_text("utf-8") == "two"


@pytest.mark.parametrize(
    ("holds", "told"),
    [
        (
            {"database": {"file": "../shop.sql"}, "folder": {}},
            "database.file: '../shop.sql' is not a path below the folder",
        ),
        ({"database": {"file": "none.sql"}, "folder": {}}, "is not a regular file"),
        ({"database": {"file": "bad.sql"}, "folder": {}}, "database.file bad.sql: near"),
        ({"database": {"sql": SQL}, "folder": {"source": "none"}}, "has 0 files"),
    ],
)
def test_what_cannot_be_copied_is_refused_by_name(tmp_path: Path, holds: Json, told: str) -> None:
    (tmp_path / "bad.sql").write_text("CRETE TABLE x", "utf-8")
    with pytest.raises(BadInputError) as refused, unit(world(DESK, **holds), base=tmp_path):
        pass
    assert told in refused.value.message_text


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"folder": {}}, "database: a rule of get_order asks one"),
        ({"database": {"sql": SQL}}, "folder: a rule of refund uses files"),
        ({"database": {}, "folder": {}}, "sql: give either sql or file"),
        ({"database": {"sql": SQL}, "folder": {"files": {"../x": ""}}}, "it has a .. part"),
    ],
)
def test_a_world_without_what_its_rules_need_is_refused(fields: Json, told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        World.model_validate({"name": "w", "servers": DESK, **fields}, strict=False)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"sql": "DELETE FROM orders"}, "only SELECT, WITH or VALUES can be asked"),
        ({"sql": "SELECT 1", "query": "a"}, "give one of query, sql and file"),
        ({"equals": 1}, "give one of query, sql and file"),
        ({"file": "../x"}, "it has a .. part"),
    ],
)
def test_a_check_of_another_form_is_refused_by_name(at: Terminal, value: Json, told: str) -> None:
    records: list[JsonValue] = [
        {"id": "shop", "type": "world", "fields": shop()},
        {"id": "c", "type": "test-case", "fields": {"name": "c", "inputs": {"q": "1"}, "world": "shop",
                                                    "assertions": [{"type": "state", "value": value}]}},
    ]  # fmt: skip
    ended = at.run("import", at.file("s.json", {"minions": records}))
    assert ended.code == 2, ended
    assert told in ended.err


def test_a_script_that_makes_no_database_is_refused_at_import(at: Terminal) -> None:
    record: Json = {"id": "shop", "type": "world", "fields": shop(database={"sql": "CRETE TABLE x"})}
    ended = at.run("import", at.file("s.json", {"minions": [record]}))
    assert ended.code == 2, ended
    assert "fields.database.sql" in ended.err


async def test_a_real_server_is_pointed_at_the_copies_of_the_unit(tmp_path: Path) -> None:
    run: list[JsonValue] = [sys.executable, str(REAL), str(tmp_path / "starts"), "{{world.folder}}"]
    server = WorldServer.model_validate({"mode": "live", "run": run}, strict=False)
    with unit(world({"notes": {"mode": "live", "run": run}}, folder={"files": {"a": "b"}})) as acted_on:
        holdings = acted_on.session.holdings
        async with real_server("notes", server, tmp_path, clock=clock, holdings=holdings) as real:
            assert cast("str", acted_on.folder) in [tool.name for tool in real.tools]
        with pytest.raises(BadInputError, match="the world has no folder"):
            async with real_server("notes", server, tmp_path, clock=clock):
                pass
