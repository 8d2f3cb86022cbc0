"""Code that a person wrote, through the command line: score cards, checks of outputs, benchmark-runs."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal

SEED = """# The variable `data` is a list of rows.
return {
    'score': len(data),
    'score_matrix': [[
        ["Criteria", "Weight", "Value"],
        ["Correctness", 4, 7],
        ["Completeness", 3, 6],
        ["Accuracy", 5, 8],
        ["Relevance", 4, 9]
    ]],
}
"""
SCRIPT = """const right = data.filter((row) => row.correct);
const cell = {value: right.length, positive_metric: false};
return {score: 100 * right.length / data.length, score_matrix: [[["Title", 1, 2], [1, cell]], [[1, 2], [1, 2]]]};
"""
FIBONACCI = "```python\ndef fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)\n```"
WRONG = "```python\ndef fibonacci(n):\n    return n\n```"
TEST: JsonValue = {"type": "python", "value": "assert fibonacci(10) == 55"}


def at_place(value: JsonValue, *place: str | int) -> JsonValue:
    """What stands there in a JSON value."""
    for step in place:
        if isinstance(value, dict):
            value = value[str(step)]
        else:
            assert isinstance(value, list)
            value = value[int(step)]
    return value


def texts(value: JsonValue) -> list[list[JsonValue]]:
    """The values of the cells in each row of a matrix."""
    rows = at_place(value, "rows")
    assert isinstance(rows, list)
    return [[at_place(cell, "value") for cell in row] for row in rows if isinstance(row, list)]


@pytest.fixture
def table(at: Terminal) -> Terminal:
    at.file("table.csv", "n,correct\n1,true\n2,false\n4,true\n")
    at.file("seed.py", SEED)
    at.file("own.js", SCRIPT)
    return at


def test_the_seeds_python_scores_a_table(table: Terminal) -> None:
    card = table.run("scorecard", "table.csv", "--code", "seed.py", "--json").one()
    rows = texts(at_place(card, "score_matrix", 0))
    assert (card["score"], rows[0], len(rows)) == (3.0, ["Criteria", "Weight", "Value"], 5)
    assert at_place(card, "score_matrix", 0, "title") is None
    shown = table.run("scorecard", "table.csv", "--code", "seed.py")
    assert shown.code == 0
    assert all(word in shown.out for word in ("score 3", "Correctness", "Relevance"))


def test_javascript_scores_a_table_with_titles_and_directions(table: Terminal) -> None:
    card = table.run("scorecard", "table.csv", "--code", "own.js", "--json").one()
    assert card["score"] == pytest.approx(200 / 3)  # pyright: ignore[reportUnknownMemberType]  pytest types it loosely
    for number, title in enumerate(("Title", None)):
        matrix = at_place(card, "score_matrix", number)
        assert (at_place(matrix, "title"), texts(matrix)) == (title, [[1.0, 2.0], [1.0, 2.0]])
    row = at_place(card, "score_matrix", 0, "rows", 1)
    assert [at_place(row, number, "positive_metric") for number in (0, 1)] == [True, False]


def test_two_tables_are_compared_by_the_same_code(table: Terminal) -> None:
    table.file("before.csv", "n,correct\n1,false\n2,false\n")
    found = table.run("scorecard", "table.csv", "--code", "own.js", "--compare", "before.csv", "--json").one()
    assert at_place(found, "changes", "score", "effect") == "better"
    assert at_place(found, "changes", "matrices", 0, "rows", 1, 1, "effect") == "worse"


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        ("return [0] * 10**9", 3, "the memory limit of 1024 MB"),
        ("return 5", 2, "must be an object with a score"),
        ("return {'score': 'high'}", 2, "score: must be a number"),
        ("x = 1\nreturn {'score': x.y}", 2, "line 2: AttributeError"),
        ("return {'score': 1", 2, "SyntaxError"),
        ("import threading", 2, "threading"),
    ],
)
def test_code_that_gives_no_score_says_why(table: Terminal, code: str, exit_code: int, said: str) -> None:
    table.file("bad.py", code)
    found = table.run("scorecard", "table.csv", "--code", "bad.py", "--json")
    assert (found.code, said in str(found.error()["message"])) == (exit_code, True), found.out


def test_what_cannot_be_scoring_code_is_bad_input(table: Terminal) -> None:
    table.file("code.txt", "1")
    commands = (["--code", "code.txt"], ["--code", "missing.py"], ["--code", "seed.py", "--columns", "n"])
    found = table.many(*(["scorecard", "table.csv", *one] for one in commands))
    assert [one.code for one in found] == [2, 2, 2]
    assert [one.err.splitlines()[0].partition(" ")[2] for one in found] == [
        "code.txt is not scoring code.",
        "missing.py cannot be read: No such file or directory.",
        "--code scores the whole table; --columns chooses from it.",
    ]


def test_trusted_code_has_the_real_interpreter_and_untrusted_has_not(table: Terminal) -> None:
    table.file(
        "levels.py", "import enum, threading\nclass Level(enum.Enum):\n    HIGH = 3\nreturn {'score': Level.HIGH.value}"
    )
    plain = table.run("scorecard", "table.csv", "--code", "levels.py")
    assert (plain.code, "--trust-code" in plain.err) == (2, True)
    assert table.run("scorecard", "table.csv", "--code", "levels.py", "--trust-code", "--json").one()["score"] == 3.0


def test_rows_are_checked_by_code_and_a_limit_is_an_error_of_the_row(at: Terminal) -> None:
    rows: list[Json] = [
        {"id": "right", "output": FIBONACCI, "assert": [TEST, {"type": "javascript", "value": "output.length > 20"}]},
        {"id": "wrong", "output": WRONG, "assert": [TEST]},
        {"id": "none", "output": "I cannot do that.", "assert": [TEST]},
        {
            "id": "object",
            "output": {"b": [1, 2], "n": 3},
            "assert": [
                {"type": "python", "value": "output['n'] == 3"},
                {"type": "javascript", "value": "output.b.length === 2"},
                {"type": "javascript", "value": "output.length === 1", "transform": "[output.n]"},
                {"type": "contains-json", "value": {"required": ["b"]}},
            ],
        },
        {"id": "lacks", "output": "x", "assert": [{"type": "python", "value": "import threading\nreturn True"}]},
        {"id": "file", "output": "x", "assert": [{"type": "python", "value": "file://check.py"}]},
    ]
    found = at.run("score", "-", stdin="\n".join(map(json.dumps, rows)))
    told = {row["id"]: row.get("pass", row.get("error")) for row in found.rows()}
    assert (told["right"], told["wrong"], told["none"]) == (True, False, False)
    assert told["object"] is True, "code is given the object, the others its text"
    assert "threading" in str(told["lacks"])
    assert "is a file, which only a config" in str(told["file"])
    assert found.code == 3


def test_the_best_of_several_outputs_is_picked_by_running_them(at: Terminal) -> None:
    checks: JsonValue = [TEST, {"type": "contains", "value": "def"}, {"type": "max-score"}]
    row: Json = {"id": "fib", "outputs": [WRONG, FIBONACCI, "no"], "assert": checks}
    found = at.run("pick", "-", stdin=json.dumps(row)).one()
    assert (found["selected"], found["scores"]) == (1, [0.5, 1.0, 0.0])


def test_a_benchmark_run_judges_by_code_and_a_limit_is_no_failed_test(at: Terminal) -> None:
    tests: JsonValue = [TEST]
    lacking: JsonValue = [{"type": "python", "value": "import threading\nreturn True"}]
    at.file(
        "suite.json",
        suite(
            case("good", assertions=tests),
            case("bad", assertions=tests),
            answer("run/good", "good", FIBONACCI),
            answer("run/bad", "bad", WRONG),
            benchmark("code", "good", "bad"),
            case("lacking", assertions=lacking),
            answer("run/lacking", "lacking", FIBONACCI),
            benchmark("more", "lacking"),
        ),
    )
    imported, ran, broken = at.many(
        ["import", "suite.json"], ["run-benchmark", "code", "--json"], ["run-benchmark", "more", "--json"]
    )
    assert imported.code == 0, imported.err
    run = ran.one()
    assert ran.code == 0, ran.err
    assert at_place(run, "benchmarkRun", "passedCount") == 1
    assert broken.code == 3
    assert "module threading" in broken.out
    trusted = at.run("run-benchmark", "more", "--trust-code", "--json")
    assert "module threading" not in trusted.out


def test_a_criterion_of_a_suite_file_is_an_evaluator_of_ones_own(at: Terminal) -> None:
    guide = "[{type: python, value: 'min(1, len(output) / 10)'}, {type: javascript, value: 'output.length > 3'}]"
    own = {"rubricId": "r", "name": "Own", "judgeType": "heuristic", "scoringGuide": guide, "maxScore": 8}
    at.file(
        "suite.json",
        suite(
            record("r", "rubric", name="R", criteriaIds=["r/own"], passingThreshold=5),
            record("r/own", "rubric-criterion", **own),
            case("long", rubricId="r"),
            case("short", rubricId="r"),
            answer("run/long", "long", "green"),
            answer("run/short", "short", "red"),
            benchmark("b", "long", "short"),
        ),
    )
    imported, ran, exported = at.many(
        ["import", "suite.json"], ["run-benchmark", "b", "--json"], ["export", "--type", "test-run"]
    )
    assert (imported.code, ran.code) == (0, 0), imported.err + ran.err
    found = [at_place(row, "fields") for row in exported.rows()]
    scores = {at_place(one, "testCaseId"): at_place(one, "totalScore") for one in found}
    assert scores == {"long": 6.0, "short": pytest.approx(1.2)}
