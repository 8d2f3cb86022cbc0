"""`minions-evals pick` and `minions-evals scorecard` as processes."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.hang import HANG_S
from tests.shared.cli.terminal import Json, Terminal


def pick_row(ident: str, *outputs: str, **value: JsonValue) -> str:
    checks: JsonValue = [{"type": "contains", "value": "Paris"}, {"type": "max-score", "value": value}]
    return json.dumps({"id": ident, "outputs": list(outputs), "assert": checks})


GOOD = pick_row("g", "Rome", "Paris")
NONE = pick_row("n", "Rome", "Lyon", threshold=0.5)
SINGLE = pick_row("s", "Paris")


def test_rows_come_from_a_file_or_standard_input_and_the_codes_tell_how_it_went(at: Terminal) -> None:
    at.file("good.jsonl", GOOD + "\n")
    at.file("none.jsonl", f"{GOOD}\n{NONE}\n")
    at.file("bad.jsonl", f"{GOOD}\n{SINGLE}\n{{bad\n{NONE}")
    commands = (
        ["good.jsonl", "--fail"],
        ["none.jsonl"],
        ["none.jsonl", "--fail"],
        ["bad.jsonl", "--fail"],
        ["missing.jsonl"],
    )
    found = at.many(*(["pick", *one] for one in commands))
    assert [one.code for one in found] == [0, 0, 1, 3, 2]
    assert [[row.get("selected") for row in one.rows()] for one in found] == [
        [1],
        [1, None],
        [1, None],
        [1, None, None, None],
        [],
    ]
    assert ["error" in row for row in found[3].rows()] == [False, True, True, False]
    assert found[3].err == "1 of 4 selected, 2 could not be checked\n"
    piped = at.run("pick", "-", "--json", stdin=f"{GOOD}\n{NONE}\n")
    assert piped.rows() == found[1].rows()
    assert json.loads(piped.err) == {"rows": 2, "selected": 1, "errors": 0}


def test_an_answer_shows_every_score_and_nothing_is_kept(bare: Terminal) -> None:
    found = bare.run("pick", "-", stdin=GOOD).one()
    reasons = ["not selected: score 0, the highest is 1", "selected: score 1 is the highest of 2"]
    named = [{"maxScore": score, "assertionCount": 1, "totalWeight": 1.0} for score in (0.0, 1.0)]
    assert found == {"id": "g", "selected": 1, "scores": [0.0, 1.0], "reasons": reasons, "namedScores": named}
    assert not list(bare.folder.iterdir())


def test_a_producer_that_waits_for_each_selection_is_answered(at: Terminal) -> None:
    with at.started("pick", "-") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for ident in ("1", "2"):
            process.stdin.write(f"{pick_row(ident, 'Paris', 'Rome')}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == ident
        process.stdin.close()
        assert process.wait(HANG_S) == 0


@pytest.fixture
def tables(bare: Terminal) -> Terminal:
    """Two weeks' results in each form."""
    bare.file("old.csv", "id,ok,tone\na,TRUE,4\nb,false,5\n")
    bare.file("new.csv", "id,ok,tone\na,true,4\nb,True,3\n")
    bare.file("rows.jsonl", '{"id": "a", "ok": true}\n{"id": "b", "ok": false}\n')
    bare.file("rows.json", [{"id": "a", "tone": 1}, {"id": "b", "tone": 2}])
    bare.file("v1.json", {"score": 1, "score_matrix": [[["Time", {"value": 9, "positive_metric": False}], [1]]]})
    bare.file("v2.json", {"score": 2, "score_matrix": [[["Time", {"value": 7, "positive_metric": False}], [1]]]})
    return bare


def test_a_file_of_any_form_is_scored(tables: Terminal) -> None:
    found = tables.many(
        *(
            ["scorecard", *one, "--json"]
            for one in (
                ["old.csv"],
                ["old.csv", "--columns", "ok"],
                ["new.csv", "--columns", "ok, tone"],
                ["rows.jsonl"],
                ["rows.json"],
                ["v1.json"],
            )
        )
    )
    assert [one.code for one in found] == [0] * 6
    told = [one.one() for one in found]
    assert [(one["score"], one["unit"]) for one in told] == [
        (4.5, "number"),
        (50.0, "percent"),
        (51.75, "mixed"),
        (50.0, "percent"),
        (1.5, "number"),
        (1.0, "number"),
    ]
    assert told[1]["columns"] == [
        {"kind": "boolean", "name": "ok", "true": 1, "count": 2, "empty": 0, "positiveMetric": True, "figure": 50.0}
    ]
    assert not tables.db.exists()


def test_a_person_sees_large_figures_checks_and_crosses(tables: Terminal) -> None:
    found = tables.run("scorecard", "old.csv", "--columns", "ok,id", "--limit", "2")
    assert found.code == 0
    assert "old.csv  score 50 %" in found.out
    assert "┏━╸ ┏━┓" in found.out
    assert "a    ✓" in found.out
    assert "b    ✗" in found.out
    assert "left out, neither Booleans nor numbers: id" in found.out
    assert "b    ✗" not in tables.run("scorecard", "old.csv", "--columns", "ok", "--limit", "1").out


def test_two_files_are_compared_with_the_sign_of_every_change(tables: Terminal) -> None:
    first, second, told, shown = tables.many(
        ["scorecard", "new.csv", "--columns", "ok", "--compare", "old.csv", "--json"],
        ["scorecard", "v2.json", "--compare", "v1.json", "--json"],
        ["scorecard", "new.csv", "--compare", "old.csv"],
        ["scorecard", "v2.json", "--compare", "v1.json"],
    )
    changes = first.one()["changes"]
    assert isinstance(changes, dict)
    assert changes["score"] == {
        "before": 50.0, "after": 100.0, "delta": 50.0, "positiveMetric": True, "effect": "better",
    }  # fmt: skip
    assert first.one().keys() == {"card", "before", "changes"}
    found = second.one()["changes"]
    assert isinstance(found, dict)
    assert found["matrices"] == [
        {
            "title": "Time",
            "rows": [
                [{"before": 9.0, "after": 7.0, "delta": -2.0, "positiveMetric": False, "effect": "better"}],
                [{"before": 1.0, "after": 1.0, "delta": 0.0, "positiveMetric": True, "effect": "same"}],
            ],
        }
    ]
    assert "tone            4.5      3.5  ▼ -1 worse" in told.out
    assert "7 ▼ -2 better" in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.csv"], "missing.csv cannot be read"),
        (["old.csv", "--columns", "tune"], "unknown column 'tune'"),
        (["old.csv", "--columns", "id"], "nothing to score: 'id'"),
        (["v1.json", "--columns", "ok"], "v1.json has a score and no columns"),
        (["old.csv", "--compare", "missing.jsonl"], "missing.jsonl cannot be read"),
    ],
)
def test_what_cannot_be_scored_is_bad_input(tables: Terminal, arguments: list[str], said: str) -> None:
    found = tables.many(["scorecard", *arguments, "--json"])[0]
    assert found.code == 2
    assert said in str(found.error()["message"])


def took(seconds: int) -> Json:
    """When an agent-run began and ended."""
    return {"triggeredAt": "2026-11-21T09:00:00Z", "completedAt": f"2026-11-21T09:00:0{seconds}Z"}


@pytest.fixture
def judged(at: Terminal) -> Terminal:
    """A benchmark with two criteria over three cases, run under v1 and v2; v2 is better, faster and dearer."""
    says = "[{type: contains, value: %s}]"
    criteria = [
        record(f"r/{name}", "rubric-criterion", rubricId="r", name=title, judgeType="heuristic", scoringGuide=says % name, maxScore=2)
        for name, title in (("red", "Says red"), ("blue", "score"))
    ]  # fmt: skip
    rubric = record("r", "rubric", name="R", criteriaIds=["r/red", "r/blue"], passingThreshold=3)
    cases = [
        record(f"c{number}", "test-case", name="c", inputs={"q": f"c{number}"}, rubricId="r") for number in range(2)
    ]
    plain = case("plain")
    runs = [
        answer("c0/v1", "c0", "red", promptVersionRef="v1", **took(2), cost=0.01),
        answer("c1/v1", "c1", "red blue", promptVersionRef="v1"),
        answer("plain/v1", "plain", "green", promptVersionRef="v1"),
        answer("c0/v2", "c0", "red blue", promptVersionRef="v2", **took(1), cost=0.02),
        answer("c1/v2", "c1", "red blue", promptVersionRef="v2"),
        answer("plain/v2", "plain", "green", promptVersionRef="v2"),
    ]  # fmt: skip
    versions: list[Json] = [
        record(f"v{n}", "prompt-version", content=f"Say it {n}.", versionNumber=n, promptId="p") for n in (1, 2)
    ]
    name = at.file(
        "s.json", suite(*versions, rubric, *criteria, *cases, plain, *runs, benchmark("b", "c0", "c1", "plain"))
    )
    started = at.many(
        ["import", name],
        *(["run-benchmark", "b", "--prompt-version", f"v{n}", "--key", f"week-{n}"] for n in (1, 2)),
    )
    assert [one.code for one in started] == [0, 0, 0], started
    return at


def columns(found: Json) -> dict[str, Json]:
    told = found["columns"]
    assert isinstance(told, list)
    return {str(one["name"]): one for one in told if isinstance(one, dict)}


def test_a_benchmark_run_is_a_table_with_a_column_for_each_criterion(judged: Terminal) -> None:
    chosen = "Says red,r/blue,passed,latency,cost"
    plain, picked, compared, shown, mixed = judged.many(
        ["scorecard", "week-1", "--json"],
        ["scorecard", "week-1", "--columns", chosen, "--json"],
        ["scorecard", "week-2", "--compare", "week-1", "--columns", chosen, "--json"],
        ["scorecard", "week-2", "--columns", "passed"],
        ["scorecard", "week-2", "--columns", "score", "--compare", "s.csv", "--json"],
    )
    assert (plain.one()["score"], list(columns(plain.one()))) == (pytest.approx(2.5 / 3), ["score"])
    assert plain.one()["unit"] == "number"
    figures = {name: (one["figure"], one["count"], one["empty"]) for name, one in columns(picked.one()).items()}
    assert figures == {
        "Says red": (2.0, 2, 1),
        "r/blue": (1.0, 2, 1),
        "passed": (pytest.approx(200 / 3), 3, 0),
        "latency": (2000.0, 1, 2),
        "cost": (0.01, 1, 2),
    }
    changes = compared.one()["changes"]
    assert isinstance(changes, dict)
    effects = changes["columns"]
    assert isinstance(effects, dict)
    assert {name: one["effect"] for name, one in effects.items() if isinstance(one, dict)} == {
        "Says red": "same", "r/blue": "better", "passed": "better", "latency": "better", "cost": "worse",
    }  # fmt: skip
    assert "plain          ✓" in shown.out
    assert mixed.code == 2


def test_a_run_is_found_by_id_too_and_one_that_is_not_there_is_named(judged: Terminal) -> None:
    listed = judged.run("runs", "--json").one()["runs"]
    assert isinstance(listed, list)
    ids = [str(one["runId"]) for one in listed if isinstance(one, dict)]
    newest, by_key, missing, too_long = judged.many(
        ["scorecard", ids[0], "--json"],
        ["scorecard", "week-2", "--json"],
        ["scorecard", "week-9"],
        ["scorecard", "x" * 5000],
    )
    assert newest.one() == by_key.one()
    assert (missing.code, too_long.code) == (2, 2)
    assert missing.err.startswith("Error: no benchmark-run with the id 'week-9'; did you mean 'week-2' or 'week-1'?")


def test_a_run_without_a_store_makes_none(bare: Terminal) -> None:
    assert bare.run("scorecard", "week-1").code != 0
    assert not bare.db.exists()
