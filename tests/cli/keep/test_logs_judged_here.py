"""What came in of every format is judged here, then compared, followed, explained and audited; its foreign scores decide nothing."""

from __future__ import annotations

import json
import zipfile
from typing import cast

import pytest

from tests.cli.suites import benchmark, suite
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.interop.makers import packed
from tests.shared.interop.whole_files import WHOLE

OTHER_RUN: tuple[tuple[str, str], ...] = (("eval1", "eval2"), ("It is Paris", "It is Rome"))
EXPECTING: dict[str, tuple[int, int, str, tuple[tuple[str, str], ...]]] = {
    "inspect-eval": (3, 3, "b.eval", OTHER_RUN),
    "inspect-json": (3, 3, "b.json", OTHER_RUN),
    "promptfoo": (2, 2, "b.json", (("eval-1", "eval-2"), ("About France", "Nothing"), ("About Spain", "Nothing"))),
    "openai-evals": (1, 2, "b.jsonl", (("240101RUN", "240102RUN"), ('["Paris"]', '["Rome"]'))),
    "tau-bench": (3, 3, "n-airline.json", (('"reward": 1.0', '"reward": 0.0'),)),
    "tau2": (3, 3, "results2.json", (('"reward": 1.0', '"reward": 0.0'),)),
    "every-eval-ever": (
        3,
        3,
        "b_samples.jsonl",
        (("geo/m/1", "geo/m/2"), ('"is_correct": true', '"is_correct": false')),
    ),
    "openai-evals-items": (3, 3, "b.jsonl", (('"run_id": "r"', '"run_id": "r2"'), ('"exact": true', '"exact": false'))),
    "claude-plugin-eval": (
        3,
        3,
        "b.json",
        (("15:43:59.796Z", "16:43:59.796Z"), ('"passed": true', '"passed": false'), ("Right", "Wrong")),
    ),
    "pydantic-evals-report": (3, 3, "b.json", (('"value": true', '"value": false'),)),
    "adk-result": (3, 3, "b.json", (("5614.5", "5615.5"), ('"eval_status": 1', '"eval_status": 2'))),
    "azure-evaluation": (3, 3, "b.json", (('_passed": true', '_passed": false'), ('"pass"', '"fail"'))),
    "phoenix-experiment": (3, 3, "b.json", (('"label": "True"', '"label": "False"'),)),
    "langsmith-evaluate": (3, 3, "b.json", (('"score": true', '"score": false'),)),
    "opik": (3, 3, "b.json", (('"passed": true', '"passed": false'),)),
    "braintrust": (3, 3, "b.jsonl", (('"same": 1.0', '"same": 0.0'),)),
    "strands-report": (3, 3, "b.json", (("true", "false"),)),
    "harbor": (3, 3, "b.json", (('"j1"', '"j2"'), ('"reward": 1.0', '"reward": 0.0'))),
    "openevals": (3, 3, "sims2.json", (('"score": true', '"score": false'), ("In Paris", "In Rome"))),
    "lm-eval": (3, 3, "samples_geo_2026-11-21T10-00-00.5.jsonl", (('"exact_match": 1.0', '"exact_match": 0.0'),)),
    "ragas": (3, 3, "r.ndjson", (('"concise": 1', '"concise": 0'),)),
    "mlflow": (1, 1, "b.jsonl", (('\\"A1\\"', '\\"B\\"'),)),
}
"""Of logs that say what is expected: how many of how many pass here; a second one's file, and what makes it another and worse."""
WAITING: dict[str, tuple[str, str, tuple[tuple[str, str], ...]]] = {
    "langsmith": ("A", "b.jsonl", (('"answer": "A"', '"answer": "B"'),)),
    "langfuse": ("A", "b.jsonl", (('"output": "A"', '"output": "B"'),)),
    "deepeval": ("Hello", "test_run_2.json", (('"content": "Hello"', '"content": "Bye"'),)),
}
"""Of logs in which nothing says what is expected of some outputs: what is right, and a second log as above."""
TRACES: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "otel": ("b.jsonl", (("Here.", "It is Paris."), ('"traceId": "00', '"traceId": "10'))),
    "opik-trace": ("b.json", (("Hello", "It is Paris."), ('"t"', '"u"'), ("shop", "mall"))),
    "atif": ("b.jsonl", (("done", "Paris"), ('_id": "t', '_id": "u'))),
    "claude-code": ("b.jsonl", (("Done ", "Paris "), ("0000-1", "0000-2"), ("2.1.332", "2.1.400"))),
    "codex": ("b.jsonl", (("Done ", "Paris "), ("0000-1", "0000-2"), ("0.171.0", "0.172.0"))),
    "gemini-cli": ("b.jsonl", (("Done ", "Paris "), ("0000-1", "0000-2"), ("gemini-2.5-pro", "gemini-3-pro"))),
    "otel-logs": ("b.json", (("Done ", "Paris "), ("0000-1", "0000-2"), ("2.1.332", "2.1.400"))),
    "opencode": ("b.json", (("Done ", "Paris "), ("0000-1", "0000-2"), ("1.18.33", "1.19.0"))),
}
"""Of logs of agent-runs alone: a second one's file, and what makes it another and right."""
CASES = (
    "openai-evals-samples",
    "tau2-tasks",
    "parquet",
    "skill-evals",
    "data-set",
    "adk-evalset",
    "pydantic-evals",
    "strands",
)
NOTHING = ("every-eval-ever-results",)


def two_logs(at: Terminal, name: str, second: str, changes: tuple[tuple[str, str], ...]) -> tuple[Json, Json]:
    """What came in of a whole file of that format, and of another run's."""
    file, make = WHOLE[name]
    path = make(at.folder / file)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            packed(
                at.folder / second, {one: changed(archive.read(one), changes).decode() for one in archive.namelist()}
            )
    else:
        (at.folder / second).write_bytes(changed(path.read_bytes(), changes))
    ended = at.run("import", file, second, "--json")
    assert ended.code == 0, ended.err
    first, other = ended.rows()
    return first, other


def changed(raw: bytes, changes: tuple[tuple[str, str], ...]) -> bytes:
    for before, after in changes:
        raw = raw.replace(before.encode(), after.encode())
    return raw


def version(taken: Json) -> str:
    (found,) = cast("list[str]", taken["promptVersionRefs"])
    return found


def compared(at: Terminal, first: Json, other: Json) -> Json:
    command = ("compare", str(first["benchmarkId"]), "--from", version(first), "--to", version(other), "--json")
    return at.run(*command).one()


def test_every_format_is_judged_here_in_one_of_these_ways() -> None:
    assert {*EXPECTING, *WAITING, *TRACES, *CASES, *NOTHING} == set(WHOLE)


@pytest.mark.parametrize("name", EXPECTING)
def test_logs_that_say_what_is_expected_are_compared_followed_explained_and_audited(at: Terminal, name: str) -> None:
    right, total, second, changes = EXPECTING[name]
    first, other = two_logs(at, name, second, changes)
    assert first["foreignScores"] == other["foreignScores"]
    assert first["benchmarkId"] == other["benchmarkId"]
    (before,) = at.many(["trend", str(first["benchmarkId"]), "--json"])
    assert before.code == 2  # a foreign score is no point of a trend
    said = compared(at, first, other)
    passes = cast("Json", said["passes"])
    assert (said["winner"], passes["a"], passes["b"], passes["unitsB"]) == (version(first), right, 0, total)
    _, trend, audited, classified = at.many(
        ["run-benchmark", str(first["benchmarkId"]), "--prompt-version", version(first), "--json"],
        ["trend", str(first["benchmarkId"]), "--json"], ["audit", str(first["benchmarkId"]), "--json"],
        ["classify", str(said["runB"]), "--json"],
    )  # fmt: skip
    assert [one.code for one in (trend, audited, classified)] == [0, 0, 0]
    assert trend.one()["seriesLength"] == 1
    assert len(classified.rows()) == total


def test_each_case_of_a_log_is_judged_by_its_own_output_though_others_are_asked_the_same(at: Terminal) -> None:
    cases = [
        {"name": f"case {order}", "order": order, "success": passed, "input": "Where?", "actualOutput": f"Answer {order}",
         "metricsData": [{"name": "Right", "success": passed, "score": float(passed), "threshold": 0.5}]}
        for order, passed in enumerate((False, True, False))
    ]  # fmt: skip
    at.file("test_run_1.json", json.dumps({"testFile": "geo.py", "testCases": cases}))
    taken = at.run("import", "test_run_1.json", "--json").one()
    run = ["run-benchmark", str(taken["benchmarkId"]), "--json"]
    for ended in at.many([*run, "--prompt-version", version(taken)], run):
        summary = cast("Json", ended.one()["benchmarkRun"])
        assert (summary["passedCount"], summary["totalCount"]) == (1, 3), ended
    (again,) = at.many([*run, "--trials", "2"])
    assert again.one()["outcomes"] == {"scored": 3, "skipped": 3}, again


@pytest.mark.parametrize("name", WAITING)
def test_outputs_of_which_nothing_says_what_is_expected_wait_and_are_compared_once_it_is_said(
    at: Terminal, name: str
) -> None:
    answer, second, changes = WAITING[name]
    first, other = two_logs(at, name, second, changes)
    assert compared(at, first, other) == {"state": "awaiting-judgments"}
    shown = at.run("show", str(first["benchmarkId"]), "--json").one()
    cases = cast("list[str]", cast("Json", shown["fields"])["testCaseIds"])
    for case in cases:
        if "expectedOutputs" not in cast("Json", at.run("show", case, "--json").one()["fields"]):
            assert at.run("accept", case, "--output", answer).code == 0
    said = compared(at, first, other)
    assert (said["winner"], cast("Json", said["passes"])["a"]) == (version(first), len(cases))
    _, trend, audited, classified = at.many(
        ["run-benchmark", str(first["benchmarkId"]), "--prompt-version", version(first), "--json"],
        ["trend", str(first["benchmarkId"]), "--json"], ["audit", str(first["benchmarkId"]), "--json"],
        ["classify", str(said["runB"]), "--json"],
    )  # fmt: skip
    assert [one.code for one in (trend, audited, classified)] == [0, 0, 0]
    assert classified.rows()


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_is_promoted_to_a_case_by_which_later_traces_are_judged(at: Terminal, name: str) -> None:
    second, changes = TRACES[name]
    first, other = two_logs(at, name, second, changes)
    assert version(first) != version(other)
    listed = cast("list[Json]", at.run("list", "agent-run", "--json").one()["records"])
    case = str(at.run("promote", str(listed[0]["id"]), "--corrected", "Paris", "--json").one()["testCaseId"])
    assert at.run("import", at.file("bench.json", suite(benchmark("b", case)))).code == 0
    said = compared(at, {**first, "benchmarkId": "b"}, other)
    passes = cast("Json", said["passes"])
    assert (said["winner"], passes["a"], passes["b"]) == (version(other), 0, 1)
    _, trend, audited, classified = at.many(
        ["run-benchmark", "b", "--prompt-version", version(other), "--json"], ["trend", "b", "--json"],
        ["audit", "b", "--json"], ["classify", str(said["runA"]), "--json"],
    )  # fmt: skip
    assert [one.code for one in (trend, audited, classified)] == [0, 0, 0]
    assert len(classified.rows()) == 1


@pytest.mark.parametrize("name", CASES)
def test_cases_without_outputs_are_audited_before_anything_ran(at: Terminal, name: str) -> None:
    file, make = WHOLE[name]
    make(at.folder / file)
    taken = at.run("import", file, "--json").one()
    audited, trend = at.many(
        ["audit", str(taken["benchmarkId"]), "--json"], ["trend", str(taken["benchmarkId"]), "--json"]
    )
    assert (audited.code, trend.code) == (0, 2)
    assert len(cast("list[Json]", audited.one()["cases"])) == taken["samples"]


@pytest.mark.parametrize("name", NOTHING)
def test_scores_without_samples_are_nothing_to_judge(at: Terminal, name: str) -> None:
    file, make = WHOLE[name]
    make(at.folder / file)
    ended = at.run("import", file, "--json")
    assert ended.code == 2
    assert "holds no samples: 1 × a result without samples" in ended.out
