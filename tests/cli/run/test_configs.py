"""`minions-evals eval` as a process: the worked configs, every kind of provider, what is kept, and how it ends."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any, cast

import pytest

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal

ECHO = """
description: Words
prompts: ["Say {{word}}", "Shout {{ word | upper }}!"]
providers: [echo, {id: echo, label: twice, transform: output + output}]
tests:
  - vars: {word: [cat, dog]}
    assert:
      - {type: icontains, value: "{{word}}", metric: says}
      - {type: contains, value: CAT}
      - {type: max-score, value: {weights: {contains: 3}}}
derivedMetrics: [{name: mean, value: says / __count}]
"""
ANSWERS = """
import os, signal
from pathlib import Path
import anyio

async def call_api(prompt, options, context):
    calls = Path("calls.txt")
    seen = calls.read_text().split() if calls.exists() else []
    calls.write_text(" ".join([*seen, prompt]))
    if len(seen) == 2 and not Path("stopped").exists():
        Path("stopped").touch()
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()
    return {"output": f"heard {prompt}"}
"""


def parts(value: object) -> list[Json]:
    assert isinstance(value, list)
    return cast("list[Json]", value)


def outputs(found: Json, row: int = 0) -> list[object]:
    return [cell["output"] for cell in parts(parts(found["rows"])[row]["cells"])]


def test_who_comes_from_promptfoo_types_what_they_typed_or_is_told_what_is_done_here(at: Terminal) -> None:
    none, _ = at.many(["eval"], ["runs"])
    assert "there is no promptfooconfig.yaml" in none.err
    at.file("promptfooconfig.yaml", ECHO)
    alone, named, again, many = at.many(
        ["eval"], ["eval", "-c", "promptfooconfig.yaml"], ["eval", "--no-cache"], ["eval", "-j", "2"]
    )
    assert (alone.code, named.code) == (0, 0), alone.err
    assert named.out.replace("8 of 8 outputs from cache (--no-cache regenerates them)\n", "") == alone.out
    assert again.code == 0
    assert many.code == 0, many.err


def test_wordings_whose_provider_is_no_model_are_taken_and_a_model_is_asked_for_by_name(at: Terminal) -> None:
    at.file("c.yaml", ECHO)
    _, taken = at.many(["eval", "c.yaml"], ["prompt", "take", "words", "latest"])
    *_, why, following = taken.out.splitlines()
    assert why.endswith("To compare the versions, name a model that answers for both.")
    assert following.endswith("--from words@1 --to words@2 --target PROVIDER:MODEL")


def test_the_matrix_shows_every_output_with_its_scores_and_what_is_selected(at: Terminal) -> None:
    at.file("c.yaml", ECHO)
    shown, told, failed = at.many(
        ["eval", "c.yaml"], ["eval", "c.yaml", "--json", "-o", "m.json", "-o", "m.csv"], ["eval", "c.yaml", "--fail"]
    )
    assert (shown.code, told.code, failed.code) == (0, 0, 1), shown.err + told.err
    assert "max-score: [1]" in shown.out
    assert "Shout CAT!" in shown.out
    assert "gate failed: 1 of 2 tests failed" in failed.err
    case_id = str(parts(told.one()["rows"])[0]["caseId"])
    assert (
        f"has 4 runs in configs and comparisons, not counted here; minions-evals history {case_id}"
        in at.run("stats", case_id).out
    )
    found = told.one()
    assert outputs(found) == ["Say cat", "Shout CAT!", "Say catSay cat", "Shout CAT!Shout CAT!"]
    columns = parts(found["columns"])
    assert [(one["passed"], one["failed"], one["provider"]) for one in columns] == [
        (0, 2, "echo"), (1, 1, "echo"), (0, 2, "twice"), (0, 2, "twice"),
    ]  # fmt: skip
    assert [one["derived"] for one in columns] == [{"mean": 1.0}] * 4
    _vet_results(json.loads((at.folder / "m.json").read_text()))
    first, second, *_ = (at.folder / "m.csv").read_text().splitlines()
    assert first.startswith("test,trial,word,[0] echo: Say {{word}} output")
    assert "max-score: [1] of " in second


def _vet_results(file: Json) -> None:
    """Reads the file as programs read promptfoo's."""
    results = cast("Json", file["results"])
    assert results["version"] == 3
    cells = parts(results["results"])
    assert cast("Json", cells[1]["prompt"])["raw"] == "Shout CAT!"
    assert cast("Json", cells[1]["testCase"]) == {
        "vars": {"word": "cat"}, "options": {}, "metadata": {},
        "assert": [
            {"type": "icontains", "value": "{{word}}", "metric": "says"}, {"type": "contains", "value": "CAT"},
            {"type": "max-score", "value": {"weights": {"contains": 3}}},
        ],
    }  # fmt: skip
    assert [(one["promptIdx"], one["testIdx"]) for one in cells] == [(n, row) for row in (0, 1) for n in range(4)]
    assert [one["success"] for one in cells] == [False, True, False, False, False, False, False, False]
    assert [one["failureReason"] for one in cells] == [1, 0, *[1] * 6]
    assert cast("Json", results["stats"]) | {"tokenUsage": 0} == {
        "successes": 1, "failures": 7, "errors": 0, "tokenUsage": 0,
    }  # fmt: skip
    graded = cast("Json", cells[1]["gradingResult"])
    said = [(cast("Json", one["assertion"])["type"], one["pass"]) for one in parts(graded["componentResults"])]
    assert said == [("icontains", True), ("contains", True), ("max-score", True)]
    assert cast("Json", cells[1]["response"])["output"] == "Shout CAT!"
    first = parts(results["prompts"])[0]
    metrics = cast("Json", first["metrics"])
    assert (metrics["testPassCount"], metrics["testFailCount"], metrics["assertPassCount"]) == (0, 2, 3)
    assert first["raw"] == "Say {{word}}"
    assert metrics["namedScores"] == {"says": 2.0, "mean": 1.0}


WISHES = """
prompts: ["{{ n }}", file://p.py:write]
providers: [echo]
tests:
  - {vars: {n: one}, assert: [{type: contains, value: one, metric: says, weight: 3}]}
  - {vars: {n: two}, prompts: ["{{ n }}"], providerOutput: brought, assert: [{type: contains, value: two, metric: says}]}
derivedMetrics: [{name: per test, value: says / __count}]
outputPath: [r.json, m.csv]
"""


def test_what_a_test_does_not_ask_for_is_told_as_that_and_figures_say_whether_they_are_sums(at: Terminal) -> None:
    at.file("c.yaml", WISHES)
    at.file("p.py", "def write(context):\n    print('aside')\n    return 'code: ' + context['vars']['n']\n")
    agreed = ["eval", "c.yaml", "--yes"]
    shown, told, again = at.many(agreed, [*agreed, "--json", "--key", "again"], agreed)
    assert (shown.code, told.code) == (0, 0), shown.err
    assert ": nothing was re-run. `latest` is a newer run than these. To ask again:" in again.err
    assert "nothing was re-run" not in shown.err
    assert (told.one()["title"], "aside" in shown.out, "aside" in told.err) == ("c.yaml", False, True)
    lines = {line.split("  ")[0].strip(): line.split() for line in shown.out.splitlines()}
    assert "· not asked" in shown.out
    assert [lines[name][-2:] for name in ("mean score", "says: mean", "says: sum", "per test: of sums")] == [
        ["0.500", "1.000"], ["0.5", "1"], ["3", "3"], ["1.5", "3"],
    ]  # fmt: skip
    first, second = (at.folder / "m.csv").read_text().splitlines()[1:]
    assert first.endswith("passed says: contains 'one',")
    assert second.endswith("not part of this test,,,not part of this test,")
    results = cast("Json", json.loads((at.folder / "r.json").read_text())["results"])
    told = [(one["testIdx"], one["promptIdx"], cast("Json", one["prompt"])["raw"]) for one in parts(results["results"])]
    assert told == [(0, 0, "one"), (0, 1, "code: one"), (1, 0, "two")]


def test_in_a_results_file_an_error_has_its_reason_and_what_waits_for_a_person_is_no_success(
    at: Terminal,
) -> None:
    at.file(
        "c.yaml",
        "prompts: ['{{n}}']\nproviders: [echo, 'exec:sh -c \"exit 3\"']\ntests: [{vars: {n: one}}]\noutputPath: r.json\n",
    )
    assert at.run("eval", "c.yaml", "--yes").code == 3
    results = cast("Json", json.loads((at.folder / "r.json").read_text())["results"])
    waiting, broken = parts(results["results"])
    assert (waiting["failureReason"], waiting["success"], waiting["score"]) == (2, False, 0.0)
    assert str(waiting["error"]).startswith("not judged")
    assert (broken["failureReason"], broken["gradingResult"]) == (2, None)
    assert "3" in str(broken["error"])
    assert cast("Json", results["stats"])["errors"] == 2


def test_an_interrupted_evaluation_goes_on_with_the_same_command(at: Terminal) -> None:
    at.file("app.py", ANSWERS)
    at.file(
        "c.yaml",
        "prompts: ['{{n}}']\nproviders: ['python:app.py']\nevaluateOptions: {maxConcurrency: 1}\n"
        "tests:\n" + "".join(f"  - {{vars: {{n: q{number}}}, assert: [{{type: contains, value: heard}}]}}\n" for number in range(5)),
    )  # fmt: skip
    stopped = at.run("eval", "c.yaml", "--yes")
    assert stopped.code == 130
    assert stopped.err.endswith("Interrupted. Progress is saved. Run the same command to resume.\n")
    ended = at.run("eval", "c.yaml", "--yes", "--json")
    assert ended.code == 0, ended.err
    assert [outputs(ended.one(), number) for number in range(5)] == [[f"heard q{number}"] for number in range(5)]
    assert (at.folder / "calls.txt").read_text().split() == ["q0", "q1", "q2", "q2", "q3", "q4"]


def test_an_interrupted_run_says_how_it_goes_on(at: Terminal) -> None:
    at.file("app.py", ANSWERS.replace("async def call_api(prompt, options, context):", "async def call_api(prompt):"))
    names = [f"q{number}" for number in range(5)]
    cases = [
        record(name, "test-case", name=name, inputs={"prompt": name}, expectedOutputs={"output": "heard"})
        for name in names
    ]
    at.file("s.json", suite(*cases, benchmark("b", *names)))
    at.run("import", "s.json")
    command = ["run-benchmark", "b", "--target", "python:app:call_api", "--concurrency", "1"]
    stopped = at.run(*command)
    assert stopped.code == 130
    key = str(at.run("runs", "latest", "--json").one()["key"])
    assert at.run("runs", "latest").out.splitlines()[1].startswith(f"Next: the same command with --key {key}")
    told = stopped.err.rpartition("Resume with: minions-evals ")[2]
    assert shlex.split(told) == [*command, "--key", key]
    shown = at.run("show", key)
    assert shown.code == 2
    assert "that is a run." in shown.err
    assert f"`minions-evals runs {key}` shows it" in shown.err
    ended = at.run(*shlex.split(told), "--json")
    assert ended.code == 0, ended.err
    assert (at.folder / "calls.txt").read_text().split() == ["q0", "q1", "q2", "q2", "q3", "q4"]


def test_the_run_id_that_runs_shows_is_its_key_and_another_text_is_a_new_one(at: Terminal) -> None:
    at.file("s.json", suite(case("a"), answer("r", "a", "green"), benchmark("b", "a")))
    at.run("import", "s.json")
    first = at.run("run-benchmark", "b", "--key", "mine", "--json").one()["runId"]
    short = str(first)[:8]
    for key in (short, str(first), "mine"):
        assert at.run("run-benchmark", "b", "--key", key, "--json").one()["runId"] == first
    for key in (short[:7], f"{short}x", "20261123"):
        assert at.run("run-benchmark", "b", "--key", key, "--json").one()["runId"] != first
    assert len(parts(at.run("runs", "--json").one()["runs"])) == 4


PROGRAM = """
import os, signal, sys, time
from pathlib import Path

with Path("calls.txt").open("a") as calls:
    calls.write(f"{sys.argv[1]} {os.getpid()}\\n")
if sys.argv[1] == "q2" and not Path("stopped").exists():
    Path("stopped").touch()
    keeper = Path(f"/proc/{os.getppid()}/stat").read_text()
    os.kill(int(keeper.rpartition(")")[2].split()[1]), signal.SIGINT)  # its parent, as Ctrl-C does
    time.sleep(60)
print("heard " + sys.argv[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the program finds whom to stop under /proc")
def test_ctrl_c_ends_the_program_that_answers_too_and_its_test_is_asked_again(at: Terminal) -> None:
    at.file("app.py", PROGRAM)
    at.file(
        "c.yaml",
        f"prompts: ['{{{{n}}}}']\nproviders: ['exec:{sys.executable} app.py']\nevaluateOptions: {{maxConcurrency: 1}}\n"
        "tests:\n" + "".join(f"  - {{vars: {{n: q{number}}}, assert: [{{type: contains, value: heard}}]}}\n" for number in range(4)),
    )  # fmt: skip
    stopped = at.run("eval", "c.yaml", "--yes")
    assert stopped.code == 130
    assert stopped.err.endswith("Interrupted. Progress is saved. Run the same command to resume.\n")
    ended = at.run("eval", "c.yaml", "--yes", "--json")
    assert ended.code == 0, ended.err
    assert [outputs(ended.one(), number) for number in range(4)] == [[f"heard q{number}"] for number in range(4)]
    calls = [line.split() for line in (at.folder / "calls.txt").read_text().splitlines()]
    assert [name for name, _ in calls] == ["q0", "q1", "q2", "q2", "q3"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(calls[2][1]), 0)


WIDE = """
prompts: ["Say {{word}}", "Shout {{ word | upper }}"]
providers: [echo, {id: echo, label: other}, {id: echo, label: lost, transform: "null"}]
tests:
  - {vars: {word: cat}, assert: [{type: contains, value: cat}, {type: is-json, weight: 0}, {type: max-score}]}
  - {vars: {word: dog}, prompts: ["Say {{word}}"], providers: [other], assert: [{type: equals, value: cow}, {type: max-score}]}
"""


def test_the_figures_behind_a_selection_stand_in_the_results_and_in_the_written_file(at: Terminal) -> None:
    at.file("c.yaml", WIDE)
    ended = at.run("eval", "c.yaml", "--json", "--out", "out.json")
    first = cast("dict[str, Any]", ended.one())["rows"][0]["selections"][0]
    figures = {"maxScore": 0.5, "assertionCount": 2, "totalWeight": 2.0}
    assert first["namedScores"][0] == figures
    written = json.loads((at.folder / "out.json").read_text())
    told: list[Any] = [
        part["namedScores"]
        for result in cast("list[Any]", written["results"]["results"])
        for part in cast("list[Any]", (result["gradingResult"] or {}).get("componentResults", []))
        if part["assertion"]["type"] == "max-score" and "namedScores" in part
    ]
    assert figures in told


def test_columns_that_would_be_too_narrow_are_a_list_and_what_failed_says_why_once(at: Terminal) -> None:
    at.file("c.yaml", WIDE)
    narrow, wide = at.with_env(COLUMNS="80").run("eval", "c.yaml"), at.with_env(COLUMNS="200").run("eval", "c.yaml")
    assert (narrow.code, wide.code) == (3, 3), narrow.err
    lines = narrow.out.splitlines()
    whole = ("[4] [5] ", "! ", "Next: ")
    assert max(len(line) for line in lines if not line.startswith(whole)) <= 80
    assert lines[lines.index("c.yaml") + 1] == "[0] echo: Say {{word}}"
    at_first = lines.index("1. word=cat, max-score: [0]")
    assert lines[at_first + 1 : at_first + 3] == [
        "  [0] ✓ 1.00 ★  contains 1.00, is-json 0.00, max-score 0.50", "      Say cat",
    ]  # fmt: skip
    assert "  [1] ✗ 0.00  contains 0.00, is-json 0.00, max-score 0.00" in lines
    assert "      contains: does not contain 'cat'" in lines
    assert "2. word=dog, max-score: !" in lines
    assert "  [1] · not asked" in lines
    told = [line for line in wide.out.splitlines() if line.startswith(whole)]
    assert told == [line for line in lines if line.startswith(whole)]
    assert [line[:9] for line in told] == ["Next: min", "[4] [5] n", "! 2: max-"]


def test_a_max_score_with_nothing_to_aggregate_is_refused_before_anything_runs(at: Terminal) -> None:
    at.file(
        "c.yaml",
        "prompts: [a, b]\nproviders: [echo]\ntests:\n- assert: [{type: is-json}]\n- assert: [{type: max-score}]\n",
    )
    ended = at.run("eval", "c.yaml")
    assert ended.code == 2
    assert "c.yaml:5" in ended.err
    assert "max-score requires at least one assertion to aggregate" in ended.err
    assert at.run("runs", "--json").one() == {"runs": []}


def test_a_default_test_gives_a_max_score_what_it_adds_up(at: Terminal) -> None:
    at.file(
        "c.yaml",
        "prompts: [a, b]\nproviders: [echo]\ndefaultTest: {assert: [{type: icontains, value: a}]}\n"
        "tests: [{assert: [{type: max-score}]}]\n",
    )
    assert at.run("eval", "c.yaml").code in {0, 1}


def test_what_is_not_carried_out_is_named_with_file_and_line_before_anything_runs(bare: Terminal) -> None:
    bare.file("c.yaml", ECHO + "tracing: {enabled: true, provider: {id: tempo}}\nglobals: {a: b}\nsharing: true\n")
    bare.file(
        "key.yaml", "prompts: [a]\nproviders: [{id: 'https://127.0.0.1:1', config: {headers: {k: '{{env.NO_KEY}}'}}}]\n"
    )
    refused, unset, form, untouched, listed, run = bare.many(
        ["eval", "c.yaml"],
        ["eval", "key.yaml", "--yes"],
        ["eval", "c.yaml", "--allow-unsupported", "-o", "x.pdf"],
        ["runs", "--json"],
        ["eval", "c.yaml", "--allow-unsupported", "--json"],
        ["runs", "--json"],
    )
    assert [one.code for one in (refused, unset, form, listed)] == [2, 2, 2, 0]
    assert refused.err.splitlines()[:3] == [
        "Error: the config asks for what is not supported:", "  c.yaml:12: tracing.provider",
        "  Take it out, or leave it out of this evaluation with --allow-unsupported.",
    ]  # fmt: skip
    assert "NO_KEY is not set" in unset.err
    assert "no store" in untouched.out
    left_out = cast("list[object]", listed.one()["leftOut"])
    assert [str(one).split(": ")[1] for one in left_out] == ["tracing.provider"]
    assert [str(one).split(": ")[1] for one in cast("list[object]", listed.one()["notes"])] == ["sharing", "globals"]
    assert len(parts(run.one()["runs"])) == 4


def test_a_run_of_a_config_is_gone_on_with_by_eval_only(at: Terminal) -> None:
    at.file("c.yaml", ECHO)
    first, refused = at.many(
        ["eval", "c.yaml", "--json"], ["run-benchmark", "eval/7051ece1ab1c8389", "--target", "config:echo"]
    )
    assert first.code == 0
    assert (refused.code, "minions-evals eval CONFIG" in refused.err) == (2, True), first.one()["benchmarkId"]


def test_the_whole_matrix_is_written_from_the_store_in_every_form_as_eval_writes_it(at: Terminal) -> None:
    at.file("c.yaml", ECHO)
    ran = at.run("eval", "c.yaml", "--json", "-o", "m.md", "-o", "m.csv", "-o", "m.html")
    benchmark_id = str(ran.one()["benchmarkId"])
    forms = [part for form in ("html", "md", "csv", "json", "xml") for part in ("-o", f"r.{form}")]
    told, refused, none = at.many(
        ["report", benchmark_id, *forms, "--json"], ["report", benchmark_id, "-o", "r.pdf"], ["report", benchmark_id]
    )
    assert [one["file"] for one in parts(told.one()["files"])] == [name for name in forms if name != "-o"]
    assert told.one()["benchmarkId"] == benchmark_id
    assert (at.folder / "r.csv").read_text() == (at.folder / "m.csv").read_text()
    assert (at.folder / "r.html").read_text() == (at.folder / "m.html").read_text()
    text = (at.folder / "r.md").read_text()
    assert "| 1. word&#61;cat" in text or "| 1. word=cat" in text
    assert "❌ 0.50 contains: does not contain 'CAT'" in text
    assert outputs(json.loads((at.folder / "r.json").read_text())) == outputs(ran.one())
    assert (at.folder / "r.xml").read_text().count("<testsuite ") == 4
    header, first, *_ = (at.folder / "r.csv").read_text().splitlines()
    assert "[0] echo: Say {{word}} reason" in header
    assert "failed contains: does not contain 'CAT'; passed says: contains 'cat' (any case)" in first
    assert ".pdf" in refused.err
    assert none.code == 2
    assert "--out is missing" in none.err


def test_columns_that_share_a_run_keep_their_labels_in_the_stored_matrix(at: Terminal) -> None:
    providers = [{"id": "echo", "label": "first"}, {"id": "echo", "label": "again"}]
    config = {"prompts": ["Say {{word}}"], "providers": providers, "tests": [{"vars": {"word": "hi"}}]}
    at.file("c.json", json.dumps(config))
    ran = at.run("eval", "c.json", "--json", "-o", "m.csv")
    assert at.run("report", str(ran.one()["benchmarkId"]), "-o", "r.csv").code == 0
    header = (at.folder / "r.csv").read_text().splitlines()[0]
    assert header == (at.folder / "m.csv").read_text().splitlines()[0]
    assert "first" in header
    assert "again" in header
