"""Files that are taken for what they are: of an unsupported format, of formats that are nearly alike, of nothing that could be read."""

from __future__ import annotations

import json
import shlex
import zipfile
from typing import Any, cast

import pytest

from minions_evals_mcp.interop.log_formats.table import FORMATS
from minions_evals_mcp.interop.log_formats.unknown_files import KEYS
from minions_evals_mcp.interop.logs.files import HEAD
from tests.shared.cli.terminal import Terminal
from tests.shared.interop.makers import Json, inspect_json, inspect_sample, written
from tests.shared.interop.whole_files import WHOLE

UNKNOWN: dict[str, Any] = {
    "lm_eval.jsonl": [{"doc_id": 0, "doc": {"q": "x"}, "resps": [["a"]], "exact_match": 1.0}],
    "messages.json": [{"role": "user", "content": "hi"}],
    "tau2.json": {"timestamp": "t", "info": {}, "tasks": [], "simulations": []},
    "swe.jsonl": [{"instance_id": "a__b-1", "model_patch": "diff", "model_name_or_path": "m"}],
    "helm.json": {"adapter_spec": {}, "request_states": []},
    "list.json": [1, 2],
    "text.json": "hello",
    "empty.json": {},
    "weave.jsonl": [{"op_name": "x", "call": {}}],
}
GOLDENS: Json = {"input": "Capital of France?", "expected_output": "Paris", "context": ["France's capital is Paris."]}
SPOKEN = {"parts": [{"text": "Hi"}], "role": "user"}
CASES: dict[str, tuple[str, Any, str]] = {
    "goldens": ("goldens.json", [GOLDENS], "data-set"),
    "goldens as lines": ("goldens.jsonl", [GOLDENS], "data-set"),
    "conversational goldens": ("c.json", [{"scenario": "A refund", "expected_outcome": "It is paid back"}], "data-set"),
    "adk": ("x.evalset.json", {"eval_set_id": "s", "eval_cases": [
        {"eval_id": "a", "conversation": [{"user_content": SPOKEN, "final_response": {"parts": [{"text": "Hello"}], "role": "model"}}]},
    ]}, "adk-evalset"),
    "pydantic-evals": ("d.json", {"cases": [{"name": "a", "inputs": "2+2?", "expected_output": "4", "evaluators": ["EqualsExpected"]}]},
                       "pydantic-evals"),
    "strands": ("e.json", {"cases": [{"name": "a", "input": "2+2?", "expected_output": "4"}], "evaluators": []}, "strands"),
    "evals of a skill": ("evals.json", [{"query": "Make a PDF", "should_trigger": True, "assertions": ["a PDF"]}], "skill-evals"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_file_of_no_known_format_is_answered_with_what_it_holds_and_the_formats(at: Terminal, name: str) -> None:
    written(at.folder / name, UNKNOWN[name])
    ended = at.run("import", name)
    assert ended.code == 2
    assert "looks like none of the known formats" in ended.err
    assert "docs/reference/log-formats.md" in ended.err
    assert "--as test-case" in ended.err
    keys = UNKNOWN[name][0] if isinstance(UNKNOWN[name], list) else UNKNOWN[name]
    for key in cast("Json", keys) if isinstance(keys, dict) else ():
        assert key in ended.err


def test_every_format_of_text_can_be_the_nearest() -> None:
    others = {
        "inspect-eval",
        "parquet",
        "every-eval-ever-results",
    }  # of no text, and the aggregate of a format that is named
    assert {form.name for form in FORMATS} == {*KEYS, *others}


def test_the_head_of_a_tau2_run_without_its_simulations_is_refused_by_their_folder(at: Terminal) -> None:
    written(
        at.folder / "results.json",
        {"info": {"environment_info": {"domain_name": "retail"}}, "tasks": [], "timestamp": "t"},
    )
    ended = at.run("import", "results.json")
    assert ended.code == 2
    assert "the results lack a simulation" in ended.err
    assert "files in simulations/" in ended.err


def test_a_table_is_answered_with_the_command_that_imports_its_rows(at: Terminal) -> None:
    at.file("q.csv", "question,answer\nWhere is it?,Paris\n")
    ended = at.run("import", "q.csv")
    assert ended.code == 2
    assert ended.err.startswith("Error: q.csv is a table. Name the record type of its rows.\n")
    asked = "import q.csv --as test-case --map inputs.question=question --map expectedOutputs.output=answer --into q"
    assert f"`minions-evals {asked}`" in ended.err
    taken = at.run(*asked.split())
    assert (taken.code, "q.csv: 1 new" in taken.out) == (0, True)
    following = taken.out.partition("Next: minions-evals ")[2].strip()
    assert following == "run-benchmark q --target python:MODULE:FUNCTION"


def test_columns_whose_names_have_spaces_are_suggested_too(at: Terminal) -> None:
    at.file("my q.csv", "User input,Expected answer\nCapital?,Paris\n")
    suggested = at.run("import", "my q.csv").err.partition("`minions-evals ")[2].partition("`")[0]
    taken = at.run(*shlex.split(suggested), "--json")
    assert (taken.code, taken.one()["new"]) == (0, 1)


@pytest.mark.parametrize("text", ["", "question,answer\n", "\n\n"])
def test_a_table_without_rows_is_refused_like_any_other(at: Terminal, text: str) -> None:
    at.file("q.csv", text)
    ended = at.run("import", "q.csv")
    assert (ended.code, "--as test-case" in ended.err) == (2, True)


@pytest.mark.parametrize("name", ["q.jsonl", "q.json"])
def test_rows_as_json_are_answered_with_the_command_that_imports_them(at: Terminal, name: str) -> None:
    written(at.folder / name, [{"question": f"{n}?", "context": ["c"], "answer": "Paris"} for n in range(2)])
    ended = at.run("import", name)
    asked = f"import {name} --as test-case --map inputs.question=question --map expectedOutputs.output=answer --into q"
    assert (ended.code, f"`minions-evals {asked}`" in ended.err) == (2, True)
    taken = at.run(*asked.split())
    assert (taken.code, f"{name}: 2 new" in taken.out) == (0, True)


@pytest.mark.parametrize("head", ["Kanal;Betreff", "first name,what you want", "a", "expected,other"])
def test_a_table_whose_columns_say_nothing_is_answered_with_their_names(at: Terminal, head: str) -> None:
    at.file("q.csv", f"{head}\n{head}\n")
    ended = at.run("import", "q.csv")
    assert (ended.code, "--map inputs.input=COLUMN" in ended.err) == (2, True)
    assert head.replace(";", ",").split(",")[0] in ended.err.partition("Replace each COLUMN")[2]


@pytest.mark.parametrize(
    ("name", "content", "damage"),
    [
        ("utf16.json", '{"a": 1}'.encode("utf-16"), "it is not UTF-8 (invalid start byte at byte 0)"),
        ("latin1.txt", "Grüße".encode("latin-1"), "it is not UTF-8 (invalid start byte at byte 2)"),
        ("latin1.csv", "input,output\ncaf\xe9,x\n".encode("latin-1"), "it is not UTF-8"),
        ("cut.txt", b"x" * (HEAD - 1) + "é and more".encode(), "it is no JSON"),
    ],
)
def test_a_file_that_is_not_utf8_is_refused_with_the_byte(at: Terminal, name: str, content: bytes, damage: str) -> None:
    (at.folder / name).write_bytes(content)
    ended = at.run("import", name)
    assert ended.code == 2
    assert damage in ended.err


def test_an_archive_of_something_else_is_no_log_of_inspect(at: Terminal) -> None:
    with zipfile.ZipFile(at.folder / "book.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    ended = at.run("import", "book.docx")
    assert (ended.code, "a Word document" in ended.err, "Inspect" in ended.err) == (2, True, False)


@pytest.mark.parametrize("name", CASES)
def test_cases_of_agent_frameworks_and_data_sets_are_taken_for_what_they_are(at: Terminal, name: str) -> None:
    file, told, form = CASES[name]
    written(at.folder / file, told)
    taken = at.run("import", file, "--json")
    assert taken.code == 0, taken.err
    assert (taken.one()["format"], taken.one()["samples"]) == (form, 1)


def test_the_expected_output_of_a_golden_is_a_reference_and_no_rubric(at: Terminal) -> None:
    written(at.folder / "goldens.json", [GOLDENS])
    at.run("import", "goldens.json")
    (case,) = cast("list[Json]", at.run("list", "test-case", "--json").one()["records"])
    assert (case["fields"]["expectedOutputs"], case["fields"]["assertions"]) == ({"output": "Paris"}, [])


def test_a_data_set_of_pydantic_evals_is_read_as_yaml_and_its_other_evaluators_make_drafts(at: Terminal) -> None:
    at.file(
        "d.yaml",
        "name: sums\nevaluators: [EqualsExpected]\ncases:\n- {name: a, inputs: {n: 1}, expected_output: {m: 2}}\n"
        "- {name: b, inputs: 2+2?, evaluators: [{Own: 1}, {Contains: four}, {LLMJudge: {rubric: It is kind}}]}\n",
    )
    taken = at.run("import", "d.yaml", "--json").one()
    assert (taken["format"], taken["samples"]) == ("pydantic-evals", 2)
    assert taken["unreadChecks"] == {"Own": 1}
    cases = cast("list[Json]", at.run("list", "test-case", "--json").one()["records"])
    by_name = {case["fields"]["name"]: case["fields"] for case in cases}
    assert [check["type"] for check in by_name["a"]["assertions"]] == ["equals"]
    assert [check["type"] for check in by_name["b"]["assertions"]] == ["contains", "llm-rubric"]
    assert by_name["b"]["status"] == "draft"


def test_a_log_of_which_nothing_is_read_is_refused_with_what_was_found(at: Terminal) -> None:
    inspect_json(at.folder / "a.json")
    ended = at.run("import", "a.json")
    assert ended.code == 2
    assert "holds no samples" in ended.err
    assert at.run("list", "prompt-version", "--json").one()["records"] == []


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "every-eval-ever-results"])
def test_explain_says_what_a_file_is_taken_for_and_keeps_nothing(at: Terminal, name: str) -> None:
    file, make = WHOLE[name]
    make(at.folder / file)
    told, words = at.many(["import", file, "--explain", "--json"], ["import", file, "--explain"])
    assert told.code == words.code == 0, told.err
    assert (told.one()["format"], told.one()["samples"]) == (name, at.run("import", file, "--json").one()["samples"])
    assert f"--format {name}" in words.out
    assert "recognized by: it" in words.out


def test_explain_names_scorers_errors_and_what_is_left_out(at: Terminal) -> None:
    lost = {**inspect_sample(2, 1, ""), "error": {"message": "lost"}, "scores": {}}
    inspect_json(at.folder / "a.json", inspect_sample(1, 1, "Paris"), lost)
    words = at.run("import", "a.json", "--explain").out
    assert "check: inspect's includes: by its documented meaning, 2 samples" in words
    assert "errors: 1 samples ended in an error in the source" in words
    assert "not interpreted, kept under extra:" in words


def test_a_bare_list_of_records_is_a_suite(at: Terminal) -> None:
    at.file("list.json", json.dumps([{"id": "c", "type": "test-case", "fields": {"name": "c", "inputs": {"q": "x"}}}]))
    taken = at.run("import", "list.json")
    assert (taken.code, "1 new" in taken.out) == (0, True), taken.err


@pytest.mark.parametrize(
    ("row", "nearest"),
    [
        ({"prompt": "a", "modelResponses": [], "category": "b"}, ""),  # Bedrock's
        ({"input": "a", "id": 1, "note": "b"}, None),
        ({"resourceSpans": 1, "x": 2}, "otel"),
        ({"trial_name": "a", "x": 1}, "harbor"),
    ],
)
def test_one_plain_word_in_common_names_no_nearest_format(at: Terminal, row: Json, nearest: str | None) -> None:
    said = at.run("import", str(written(at.folder / "x.json", [row]))).err
    if nearest:
        assert f"Nearest: {nearest}" in said
    elif nearest == "":
        assert "Nearest" not in said
    assert "skill-evals" not in said


def test_a_file_of_evaluate_is_not_taken_for_one_of_pydantic_evals(at: Terminal) -> None:
    """What its cases expect would lie unread beside them, and every output would be right."""
    written(at.folder / "c.json", {"cases": [{"inputs": {"q": "Capital?"}, "expected": "Paris", "checks": ["equals"]}]})
    ended = at.run("import", "c.json")
    assert (ended.code, "looks like none of the known formats" in ended.err) == (2, True)


def test_a_table_named_as_a_suite_is_answered_with_the_command_that_imports_it(at: Terminal) -> None:
    at.file("q.csv", "question,answer\nWhere is it?,Paris\n")
    at.file("minions-evals.toml", 'suites = ["q.csv"]\n')
    for command in (("audit", "q.csv"), ("run",)):
        ended = at.run(*command)
        assert (ended.code, "q.csv is a table." in ended.err, "--as test-case" in ended.err) == (2, True, True), command


def test_after_an_import_the_target_of_the_newest_run_is_named_again(at: Terminal) -> None:
    at.file("q.csv", "question,answer\nWhere is it?,Paris\n")
    at.file("own.py", "def answer(question):\n    return 'Paris'\n")
    rows = "import q.csv --as test-case --map inputs.question=question --map expectedOutputs.output=answer --into q"
    at.run(*rows.split())
    assert at.run("run-benchmark", "q", "--target", "python:own:answer").code == 0
    assert "Next: minions-evals run-benchmark q --target python:own:answer\n" in at.run(*rows.split()).out


@pytest.mark.parametrize("stays", [1, 12])
def test_where_the_users_own_program_crashes_no_keys_and_services_are_checked(at: Terminal, stays: int) -> None:
    at.file("q.csv", "question,answer\n" + "".join(f"Where is {n}?,Paris\n" for n in range(stays)))
    at.file("own.py", "def answer(question):\n    raise RuntimeError('my bug')\n")
    rows = "import q.csv --as test-case --map inputs.question=question --map expectedOutputs.output=answer --into q"
    at.run(*rows.split())
    ended = at.run("run-benchmark", "q", "--target", "python:own:answer")
    assert (ended.code, "my bug" in ended.err, "Correct the target." in ended.err) == (3, True, True)
    assert "doctor" not in ended.err
