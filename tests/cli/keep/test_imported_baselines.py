"""An import that says what is right: waiting outputs are judged now, and what was expected before is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from minions_evals_mcp.cli.keep.row_imports import RowImport
from minions_evals_mcp.cli.keep.suites import import_file
from minions_evals_mcp.interop.row_records import RowMapping
from minions_evals_mcp.store.connection import Db
from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal
from tests.workshop import config_in, opened

OPEN = record("c", "test-case", name="c", inputs={"q": "c"})
TAKE_ROWS = ["import", "c.csv", "--as", "test-case", "--map", "inputs.q=q", "--map", "expectedOutputs.output=want"]


@pytest.fixture
def waiting(at: Terminal) -> Terminal:
    """A run, under the key `k`, of a case that says nothing of what is right."""
    name = at.file(
        "open.json",
        suite(OPEN, case("d"), answer("a", "c", "red"), answer("e", "d", "green"), benchmark("b", "c", "d")),
    )
    taken, _, shown = at.many(["import", name, "--json"], ["run-benchmark", "b", "--key", "k"], ["runs", "k", "--json"])
    assert shown.one()["state"] == "awaiting-judgments"
    assert "judgedRunIds" not in taken.one()
    return at


def test_a_suites_first_expected_output_judges_what_waited_and_says_so(waiting: Terminal) -> None:
    name = waiting.file("said.json", suite(case("c", "red")))
    told, shown, again = waiting.many(["import", name], ["runs", "k", "--json"], ["import", name])
    first, second = told.out.splitlines()
    run = shown.one()
    assert first == "said.json: 0 new, 1 changed, 0 unchanged"
    assert second == f"  outputs that waited for it are judged now: minions-evals runs {run['runId']}"
    assert (run["state"], run["outcomes"]) == ("completed", {"scored": 2})
    assert again.out == "said.json: 0 new, 0 changed, 1 unchanged\n"


def test_rows_judge_what_waited_too(waiting: Terminal) -> None:
    waiting.file("c.csv", "id,q,want\nc,c,blue\n")
    told, shown = waiting.many([*TAKE_ROWS, "--map", "id=id", "--set", "name=c", "--json"], ["runs", "k", "--json"])
    assert told.one()["judgedRunIds"] == [shown.one()["runId"]]
    assert [one["testCaseId"] for one in cast("list[Json]", shown.one()["failures"])] == ["c"]


def _changes(db: Db) -> list[Json]:
    rows = db.execute("SELECT detail FROM event WHERE type = 'expected-output-updated' ORDER BY seq").fetchall()
    return [json.loads(row[0]) for row in rows]


async def test_what_was_expected_before_an_import_is_kept_with_who_changed_it(at: Terminal, tmp_path: Path) -> None:
    first, then = at.file("first.json", suite(case("c", "red"))), at.file("then.json", suite(case("c", "blue")))
    at.file("c.csv", "id,q,want\nc,c,green\n")
    rows = RowImport(
        RowMapping("test-case", {"id": "id", "inputs.q": "q", "expectedOutputs.output": "want"}, {"name": "c"}), None
    )
    async with opened(config_in(tmp_path)) as engine:
        for name in (first, then):
            await import_file(engine, tmp_path / name)
        await rows.take(engine, tmp_path / "c.csv")
        told = await engine.store.read(_changes)
    assert [(one["from"], one["to"], one["by"]) for one in told] == [
        ({"output": "red"}, {"output": "blue"}, "command-line"),
        ({"output": "blue"}, {"output": "green"}, "command-line"),
    ]
