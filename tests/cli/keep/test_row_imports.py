"""`import --as`: rows of one's own data."""

from __future__ import annotations

import json
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.store.connection import open_raw
from tests.cli.suites import benchmark, case, suite
from tests.hang import HANG_S
from tests.shared.cli.terminal import Terminal

QA = ["--map", "inputs.question=Question", "--map", "expectedOutputs.output=Answer"]


def test_rows_become_a_benchmark_that_runs_and_importing_twice_changes_nothing(at: Terminal) -> None:
    at.file("t.csv", "Question,Answer,topic\nWhere?,Paris,x\nWhen?,noon,y\n")
    at.file("runs.tsv", "Question\tsaid\nWhere?\tIn Paris.\nWhen?\tat one\n")
    take = ["import", "t.csv", "--as", "test-case", *QA, "--into", "geo", "--json"]
    runs = ["--map", "inputs.question=Question", "--map", "outputs.output=said", "--set", "agentId=me"]
    first, second, exported, answers, ran = at.many(
        take, take, ["export", "--type", "benchmark"], ["import", "runs.tsv", "--as", "agent-run", *runs], ["run-benchmark", "geo"]
    )  # fmt: skip
    assert first.one() == {"file": "t.csv", "new": 2, "changed": 0, "unchanged": 0}
    assert second.one() == {"file": "t.csv", "new": 0, "changed": 0, "unchanged": 2}
    assert len(exported.rows()[0]["fields"]["testCaseIds"]) == 2  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue, reportOptionalSubscript]  JSON
    assert answers.code == 0
    assert "1 of 2 passed" in ran.out


def test_of_a_file_with_a_bad_row_nothing_is_imported_however_late_it_comes(at: Terminal) -> None:
    rows = "".join(f"c{number},q{number},a\n" for number in range(450))
    at.file("late.csv", f"id,Question,Answer\n{rows}c3,again,a\n")
    at.file("short.csv", f"id,Question,Answer\n{rows}c450,q\n")
    at.file("rubric.csv", f"id,Question,Answer\n{rows}")
    late, short, rubric, column, exported = at.many(
        ["import", "late.csv", "--as", "test-case", "--map", "id=id", *QA],
        ["import", "short.csv", "--as", "test-case", "--map", "id=id", *QA, "--json"],
        ["import", "rubric.csv", "--as", "test-case", *QA, "--set", "rubricId=nobody"],
        ["import", "rubric.csv", "--as", "test-case", *QA, "--map", "name=title"],
        ["export"],
    )
    assert "late.csv:452: id: duplicate id 'c3'" in late.err
    assert short.error()["message"] == "short.csv:452: 2 cells under 3 columns"
    assert "rubric.csv:2: test-case" in rubric.err
    assert "there is no rubric 'nobody'" in rubric.err
    assert "rubric.csv has no column 'title'." in column.err
    assert "Its columns are id, Question, Answer." in column.err
    assert exported.out == ""


def test_what_the_store_refuses_names_the_row_and_imports_nothing(at: Terminal) -> None:
    at.file("s.json", suite(case("taken"), benchmark("b", "taken")))
    rows = "".join(f"r{number},q\n" for number in range(250))
    at.file("a.csv", f"id,inputs.q\n{rows}b,q\n")
    at.file("b.csv", f"id,inputs.q,outputs.output\n{rows.replace(',q', ',q,x')}".replace("r0,q,x", "r0,q,other"))
    at.file("first.csv", "id,inputs.q,outputs.output\nr0,q,x\n")
    _, wrong, _, exported, final = at.many(
        ["import", "s.json"],
        ["import", "a.csv", "--as", "test-case"],
        ["import", "first.csv", "--as", "agent-run", "--set", "agentId=me"],
        ["export"],
        ["import", "b.csv", "--as", "agent-run", "--set", "agentId=me"],
    )
    assert "a.csv:252: test-case b: id: this id belongs to a benchmark" in wrong.err
    assert "agent-run r0 was edited" in final.out
    assert [one["id"] for one in exported.rows()] == ["taken", "b", "r0"]


def test_cases_are_added_to_a_benchmark_behind_those_that_it_has(at: Terminal) -> None:
    at.file("s.json", suite(case("a"), benchmark("b", "a", dimension="old")))
    at.file("t.csv", "id,inputs.q\nc,x\na,y\n")
    _, added, none, shown, other = at.many(
        ["import", "s.json"],
        ["import", "t.csv", "--as", "test-case", "--into", "b", "--json"],
        ["import", "t.csv", "--as", "test-case", "--into", "a"],
        ["show", "b", "--json"],
        ["import", "t.csv", "--as", "test-case", "--into", "no id!"],
    )
    assert added.one()["new"] == 1
    assert "a is a test-case, not a benchmark" in none.err
    fields = shown.one()["fields"]
    assert isinstance(fields, dict)
    assert (fields["testCaseIds"], fields["dimension"]) == (["a", "c"], "old")
    assert "not a valid id" in other.err


@pytest.mark.parametrize(
    "options",
    [
        ["--map", "name=x"], ["--set", "name=x"], ["--into", "b"], ["--as", "rubric"], ["--as", "test-case", "--map", "name"],
        ["--as", "test-case", "--map", "nothing=x"], ["--as", "test-case", "--map", "name=x", "--map", "name=y"],
        ["--as", "agent-run", "--into", "b"],
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(at: Terminal, options: list[str]) -> None:
    at.file("t.csv", "x\ny\n")
    (found,) = at.many(["import", "t.csv", *options])
    assert found.code == 2
    assert found.err


def test_ten_times_the_rows_need_no_more_memory(at: Terminal) -> None:
    script = Path(__file__).with_name("peak.py")

    def peak(rows: int) -> int:
        """The most memory, in KB, that the import of so many rows took."""
        text = "x" * 400
        name = at.file(
            f"{rows}.csv", "id,inputs.q\n" + "".join(f"c{number},{number} {text}\n" for number in range(rows))
        )
        found = at.carried_out([sys.executable, str(script), name, "--as", "test-case", "--db", f"{rows}.db"])
        assert found.code == 0, found.err
        return int(json.loads(found.out.splitlines()[-1])["peakKb"])

    assert peak(3000) < peak(300) + 10_000


@pytest.mark.parametrize("into", [[], ["--into", "b"]])
def test_an_import_of_rows_that_is_killed_has_taken_all_or_nothing(at: Terminal, into: list[str]) -> None:
    """It is killed as soon as another program sees the first row: by then all are there, and the benchmark too."""
    count = 3000
    at.file("t.csv", "id,Question,Answer\n" + "".join(f"c{n},q{n},a{n}\n" for n in range(count)))
    assert at.run("init", "made").code == 0
    assert at.run("import", "made/evals.yaml").code == 0
    with closing(open_raw(at.db, read_only=True)) as db:
        counted = "SELECT count(*) FROM minion WHERE id GLOB 'c[0-9]*'"
        with at.started("import", "t.csv", "--as", "test-case", "--map", "id=id", *QA, *into) as process:
            until = time.monotonic() + HANG_S
            while not db.execute(counted).fetchone()[0] and process.poll() is None and time.monotonic() < until:
                time.sleep(0.001)
            process.kill()
        assert db.execute(counted).fetchone()[0] == count
        if into:
            (cases,) = db.execute(
                "SELECT json_array_length(fields, '$.testCaseIds') FROM minion WHERE id = 'b'"
            ).fetchone()
            assert cases == count


@pytest.mark.parametrize("mapped", [True, False])
def test_a_table_that_is_imported_again_leaves_what_it_does_not_fill(at: Terminal, mapped: bool) -> None:
    """Checks that were added since, as by `audit --fix`, would otherwise be gone without a word."""
    head = "key,q,a" if mapped else "id,inputs.question,expectedOutputs.output"
    given = ["--map", "id=key", "--map", "inputs.question=q", "--map", "expectedOutputs.output=a"] if mapped else []
    rows = ["import", "t.csv", "--as", "test-case", *given]
    at.file("t.csv", f"{head}\nc1,Where is it?,Paris\n")
    at.run(*rows)
    shown = cast("dict[str, Json]", at.run("show", "c1", "--json").one())
    fields = shown["fields"] | {"name": "Place", "assertions": [{"type": "word-count", "value": {"max": 1}}]}
    at.file("more.json", json.dumps({"records": [{"id": "c1", "type": "test-case", "fields": fields}]}))
    at.run("import", "more.json")
    assert "0 changed, 1 unchanged" in at.run(*rows).out
    at.file("t.csv", f"{head}\nc1,Where is it?,Rome\n")
    assert "1 changed, 0 unchanged" in at.run(*rows).out
    after = cast("dict[str, dict[str, Any]]", at.run("show", "c1", "--json").one())["fields"]
    assert (after["name"], after["expectedOutputs"]) == ("Place", {"output": "Rome"})
    assert [check["type"] for check in after["assertions"]] == ["word-count"]
