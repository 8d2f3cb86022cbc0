"""The digests of rows cost what a row costs, however many rows there are."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from minions_evals_mcp.store.connection import open_raw, sqlite
from minions_evals_mcp.store.migrate import migrations
from minions_evals_mcp.store.row_digests import damage, keep, sources

FEW, MANY = 100, 3000


def steps(rows: int, *, checked: bool) -> int:
    """The instructions of SQLite's machine, by the hundred, for one changed row among so many, or for comparing them all."""
    (made,) = (text for _, text in migrations() if "CREATE TABLE row_digest" in text)
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    with closing(sqlite.connect(":memory:")) as db:
        db.execute(made[made.index("CREATE TABLE row_digest") :].partition(";")[0])
        db.execute("CREATE TABLE note (seq INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
        keep(db)
        db.executemany("INSERT INTO note (text) VALUES (?)", [(f"note {number}",) for number in range(rows)])
        db.set_progress_handler(count, 100)
        if checked:
            assert [*damage(db, sources(db)[0], most=10)] == []
        else:
            db.execute("UPDATE note SET text = 'other' WHERE seq = ?", (rows,))
    return counted


@pytest.mark.parametrize("checked", [True, False])
def test_the_work_grows_with_what_is_looked_at_and_not_with_its_square(checked: bool) -> None:
    few, many = steps(FEW, checked=checked), steps(MANY, checked=checked)
    assert many <= 2 + (MANY / FEW * 1.5 * few if checked else few)


def test_no_change_goes_without_a_digest_but_those_that_the_store_refuses(small_store: Path) -> None:
    with closing(open_raw(small_store)) as db:
        keep(db)
        made = {name for (name,) in db.execute("SELECT name FROM sqlite_temp_schema")}
        keep(db)  # before every write: only the first makes anything
        assert {name for (name,) in db.execute("SELECT name FROM sqlite_temp_schema")} == made
        refused: list[str] = []
        for table, key in [(source.table, source.keys[0]) for source in sources(db)]:
            has_row = db.execute(f"SELECT 1 FROM {table}").fetchone()
            assert f"digest_{table}_new" in made
            for trigger, change in (("changed", f"UPDATE {table} SET {key} = {key}"), ("gone", f"DELETE FROM {table}")):
                if f"digest_{table}_{trigger}" not in made and has_row:
                    refused.append(change)
                    with pytest.raises(sqlite.IntegrityError):
                        db.execute(change)
        assert len(refused) > 30
