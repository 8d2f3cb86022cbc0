"""Tables at the width of a terminal: what an id is needed for must work at any."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from minions_evals_mcp.report.columns import TableColumn, fitting, show_columns

LONG = "support/" + "very-" * 22 + "long@1"


def drawn(width: int, *columns: TableColumn) -> list[str]:
    stream = io.StringIO()
    show_columns(Console(file=stream, width=width, highlight=False), columns)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_a_table_that_fits_is_shown_whole() -> None:
    assert drawn(40, TableColumn("id", ["a"]), TableColumn("runs", ["12"], 1, right=True)) == [" id  runs", " a     12"]


def test_what_matters_least_is_left_out_first_and_named() -> None:
    columns = (
        TableColumn("id", ["a/b"]),
        TableColumn("runs", ["12"], 1),
        TableColumn("model", ["m" * 20], 3),
        TableColumn("cost", ["1"], 2),
    )
    assert drawn(20, *columns) == [" id   runs  cost", " a/b  12    1", " hidden columns: model (--json shows all)"]


def test_an_id_that_is_wider_than_the_terminal_is_still_whole() -> None:
    told = drawn(80, TableColumn("id", [LONG, "short"]), TableColumn("runs", ["1", "2"], 1))
    assert told[1].strip() == LONG
    assert told[2].strip() == "short"


@given(st.lists(st.tuples(st.text(alphabet="ab", max_size=9), st.integers(0, 3)), max_size=6), st.integers(1, 60))
def test_what_must_stay_stays_and_the_rest_fits_or_is_gone(named: list[tuple[str, int]], width: int) -> None:
    columns = [TableColumn(name, [name * 2], leave) for name, leave in named]
    shown = fitting(columns, width)
    assert [one for one in columns if one.leave == 0] == [one for one in shown if one.leave == 0]
    assert sum(one.width for one in shown) <= width or all(one.leave == 0 for one in shown)
