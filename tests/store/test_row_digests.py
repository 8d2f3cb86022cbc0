"""The digests of rows cost what a row costs, however many rows there are."""

from __future__ import annotations

from contextlib import closing

import pytest

from minions_evals_mcp.store.connection import sqlite
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
