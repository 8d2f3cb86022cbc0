"""The order of a run's cases in memory is the one that SQL gives, for every filter and every sort."""

from __future__ import annotations

import random
import string
from itertools import product
from pathlib import Path

import pytest

from minions_evals_mcp.store.connection import open_raw
from minions_evals_mcp.store.queries.pages.run_cases import SORTS, CaseFilter, IndexedCase, Place, by_score
from minions_evals_mcp.view.case_index import among_cases, ordered

STATUSES = ("", "failed", "passed", "unscored", "newly-failing", "newly-passing")
ORDERS = {
    "": "CASE WHEN status = 'failed' AND change <> '' THEN 0 WHEN status = 'failed' THEN 1 WHEN status = 'unscored' THEN 2"
    " WHEN change <> '' THEN 3 ELSE 4 END",
    "score": "score", "case": "title COLLATE NOCASE", "cost": "cost", "time": "time", "place": "position",
}  # fmt: skip
LISTED = (
    "SELECT position, trial FROM listed WHERE (:status = '' OR :status IN (status, change)) AND (:cause = '' OR cause = :cause)"
    " ORDER BY {order} IS NULL, {order} {direction}, score, position, trial"
)
SMALL = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
"""As SQLite folds letters: those of ASCII only."""
TITLES = (None, "Zebra", "apple", "Apple", "ärger", "Ärger", "_", "a", "a b")


def cases(draw: random.Random, size: int) -> tuple[list[IndexedCase], dict[Place, tuple[float | None, float | None]]]:
    """Cases with ties, gaps and every state, in no order."""
    rows: list[IndexedCase] = []
    for position, trial in draw.sample(list(product(range(size), (1, 2))), size):
        status = draw.choice(("failed", "passed", "unscored"))
        change = draw.choice(("", {"failed": "newly-failing", "passed": "newly-passing"}.get(status, "")))
        score = None if status == "unscored" else draw.choice((0.0, 0.25, 0.5, 1.0))
        cause = draw.choice(("wrong-output", "timeout")) if status == "failed" else ""
        title = draw.choice(TITLES)
        folded = None if title is None else title.translate(SMALL)
        rows.append(IndexedCase(position, trial, f"c{position}", title, status, change, score, cause, folded))
    costs = {
        row.place: (draw.choice((None, 0.0, 0.1)), draw.choice((None, 5, 7.5))) for row in rows if draw.random() < 0.8
    }
    return by_score(rows), costs


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_that_of_sql(tmp_path: Path, seed: int) -> None:
    rows, costs = cases(random.Random(seed), 60)  # noqa: S311  a test's own rows
    db = open_raw(tmp_path / "listed.db")
    db.execute("CREATE TABLE listed (position, trial, title, status, change, score, cause, cost, time)")
    db.executemany(
        "INSERT INTO listed VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(row.position, row.trial, *row[3:8], *costs.get(row.place, (None, None))) for row in rows],
    )
    for status, cause, sort, falling in product(STATUSES, ("", "timeout"), SORTS, (False, True)):
        sql = LISTED.format(order=ORDERS[sort], direction="DESC" if falling else "ASC")
        wanted = db.execute(sql, {"status": status, "cause": cause}).fetchall()
        filters = CaseFilter(status=status, cause=cause, sort=sort, falling=falling)
        assert ordered(rows, filters, costs=costs) == wanted, filters
    db.close()


def test_a_case_knows_its_neighbours_among_those_that_fit() -> None:
    places = [(3, 1), (1, 1), (2, 2)]
    found = [among_cases(places, place) for place in places]
    assert [(one.number, one.of, one.previous, one.following) for one in found if one] == [
        (1, 3, None, (1, 1)),
        (2, 3, (3, 1), (2, 2)),
        (3, 3, (1, 1), None),
    ]
    assert among_cases(places, (9, 1)) is None


def test_only_cases_in_every_set_fit() -> None:
    rows, _ = cases(random.Random(1), 10)  # noqa: S311  a test's own rows
    places = [row.place for row in rows]
    assert set(ordered(rows, CaseFilter(), [set(places[:6]), set(places[4:])])) == set(places[4:6])
