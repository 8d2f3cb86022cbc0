"""Rows of one sample that lie far apart come together, however many wait, in bounded memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.gathering import MOST_HELD, LogRow, gathered
from minions_evals_mcp.interop.logs.json_stream import LONGEST

LARGE = 40_000


def _rows(keys: int, times: int, size: int) -> Iterator[LogRow[str]]:
    """All first rows, then all second ones, …, and one that belongs to nothing."""
    for time in range(times):
        for key in range(keys):
            yield LogRow(f"line {time * keys + key}", f"k{key}", f"{time} {key} ".ljust(size, "x"))
    yield LogRow("the end", None, "alone")


def test_rows_come_together_in_their_order_and_one_without_a_key_stays_alone() -> None:
    groups = list(gathered(lambda: _rows(3, 2, 0)))
    assert [group.values for group in groups] == [["0 0 ", "1 0 "], ["0 1 ", "1 1 "], ["0 2 ", "1 2 "], ["alone"]]
    assert [group.where for group in groups] == ["line 3", "line 4", "line 5", "the end"]


def test_more_rows_than_may_wait_in_memory_wait_in_files_and_none_is_lost() -> None:
    keys = 3 * MOST_HELD // LARGE
    tracemalloc.start()
    try:
        seen = {
            group.key: [value.strip("x") for value in group.values] for group in gathered(lambda: _rows(keys, 2, LARGE))
        }
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seen == {None: ["alone"]} | {f"k{key}": [f"0 {key} ", f"1 {key} "] for key in range(keys)}
    assert peak < 2 * MOST_HELD


@pytest.mark.parametrize("others", [0, 2 * MOST_HELD // LARGE])
def test_a_sample_that_no_memory_should_hold_is_refused_whether_it_waits_in_memory_or_in_files(others: int) -> None:
    def rows() -> Iterator[LogRow[str]]:
        yield from _rows(others, 1, LARGE)
        yield from (LogRow(f"line {number}", "great", "x" * (LONGEST // 8)) for number in range(9))
        yield from _rows(others, 1, LARGE)

    with pytest.raises(InvalidRecordError, match="the rows of one sample, 'great', take more than"):
        list(gathered(rows))
