"""What reads are made of: a line says what its record says, a row's columns count, a reader that gives up disturbs nobody."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from minions_evals_mcp.domain.results import EvalMetric
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import open_store
from minions_evals_mcp.store.queries.pages import listings
from minions_evals_mcp.store.queries.pages.listings import RecordLine
from minions_evals_mcp.store.rows import TABLES, record_of
from tests.hang import HANG_S


@pytest.mark.parametrize("kind", [*TABLES, "test-case", "agent-message", "task"])
async def test_a_line_of_a_list_says_what_its_record_says(small_store: Path, kind: str) -> None:
    async with open_store(small_store, read_only=True) as store:
        lines = await store.read(lambda db: listings.lines(db, kind, after=0, limit=50))
        page = await store.read(lambda db: records.page(db, kind, limit=50))
    assert lines
    assert lines == [RecordLine(seq, one.id, one.title, one.shown_status, one.updated_at) for seq, one in page]


@pytest.mark.parametrize(
    ("rest", "notes"),
    [
        ("{}", ""),
        (" {\n}\n", ""),
        ('{"notes":"n"}', "n"),
        (' {"score": 0.1, "notes": "n"} ', "n"),
    ],
)
def test_the_columns_of_a_row_count_whatever_its_rest_says(rest: str, notes: str) -> None:
    fields = record_of(TABLES["eval-metric"], (1, "m", "run1", "tone", 0.5, 1.0, 0, rest)).fields
    assert isinstance(fields, EvalMetric)
    assert (fields.score, fields.notes) == (0.5, notes)


async def test_a_reader_that_gives_up_leaves_the_others_their_answers(small_store: Path) -> None:
    answers: dict[int, int] = {}

    def question(db: Db, number: int) -> int:
        return db.execute("SELECT ?", (number,)).fetchone()[0]

    async with open_store(small_store, read_only=True) as store:

        async def ask(number: int) -> None:
            answers[number] = await store.read(lambda db: question(db, number))

        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as others:
                for number in range(50):
                    others.start_soon(ask, number)
                async with anyio.create_task_group() as leaving:
                    for number in range(50, 60):
                        leaving.start_soon(ask, number)
                    await anyio.lowlevel.checkpoint()
                    leaving.cancel_scope.cancel()
    assert {number: answers.get(number) for number in range(50)} == {number: number for number in range(50)}
