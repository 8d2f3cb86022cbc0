"""What an imported log says of its samples goes out and comes in again the same, in each format for what the format has words for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, cast

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from pydantic import JsonValue

from minions_evals_mcp.interop.logs.sample import LogSample
from tests.shared.cli.terminal import Terminal
from tests.shared.interop.log_parts import DEEPEVAL, TAU
from tests.shared.interop.makers import Json, inspect_json, inspect_sample, kept, samples, written

VERSION = "log:inspect/capitals/eval1"
CALL: Json = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
ASKED: list[JsonValue] = [{"role": "system", "content": "Short."}, {"role": "user", "content": "Look"}]
SAID: list[JsonValue] = [
    {"role": "user", "content": "Look"},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "function": "bash", "content": "file.txt"},
    {"role": "assistant", "content": "done"},
]
VALUES: list[Any] = ["C", "I", "P", "N", 0.25, 7, True, [1, "x"], {"a": 1.5}, math.nan]
TOLD = [
    *(inspect_sample(n, epoch, f"answer {n} {epoch}", value) for n, value in enumerate(VALUES) for epoch in (1, 2)),
    inspect_sample("a/b é", 1, "done", 0.5, input=ASKED, target=["x", "y"], messages=SAID),
    inspect_sample("err", 1, "", 1.0, error={"message": "late"}, limit={"type": "time", "limit": 5}, output={}, messages=[]),
    inspect_sample("choice", 1, "ANSWER: A", "C", choices=["one", "two"], target="A"),
]  # fmt: skip


def facts(sample: LogSample) -> Json:
    """What a sample says, by name; NaN by its name, for it equals nothing."""
    made = sample.produced
    assert made is not None
    scores = [(score.name, "NaN" if score.value != score.value else score.value) for score in made.scores]
    return {
        "inputs": sample.inputs, "targets": sample.targets, "output": made.output, "scores": scores, "error": made.error,
        "stop": made.stop_reason, "tokens": (made.input_tokens, made.output_tokens), "latency": made.latency_ms, "cost": made.cost,
        "messages": made.messages, "times": (made.started, made.completed), "about": made.extra.get("limit"),
    }  # fmt: skip


def by_id(path: Path) -> dict[tuple[str, int], Json]:
    """What each sample of the file says."""
    return {(str(one.id), one.epoch): facts(one) for one in samples(path)}


def exported(at: Terminal, form: str) -> Path:
    """The rich log, taken in and written in that format, which is taken in again by another store."""
    inspect_json(at.folder / "a.json", *TOLD)
    out = {"parquet": "out.parquet", "every-eval-ever": "out.json"}.get(form, "out.json")
    again = "out_samples.jsonl" if form == "every-eval-ever" else out
    commands = [["import", "a.json"], ["export", VERSION, "--format", form, "-o", out]]
    if form != "otel-events":
        commands.append(["import", again, "--db", "another.db"])
    for ended in at.many(*commands):
        assert ended.code == 0, ended.err
    return at.folder / again


@pytest.mark.parametrize("form", ["inspect-json", "parquet"])
def test_all_of_a_log_comes_back(at: Terminal, form: str) -> None:
    assert by_id(exported(at, form)) == by_id(at.folder / "a.json")


def test_promptfoo_says_outputs_figures_and_what_scores_are_worth(at: Terminal) -> None:
    found, was = samples(exported(at, "promptfoo")), samples(at.folder / "a.json")
    shared = ("inputs", "output", "error", "tokens", "latency", "cost")
    assert [{key: facts(one)[key] for key in shared} for one in found] == [
        {key: facts(one)[key] for key in shared} for one in was
    ]
    worth = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    for one, before in zip(found, was, strict=True):
        (_, value), *_ = cast("list[tuple[str, Any]]", facts(before)["scores"])
        number = (
            worth.get(value) if isinstance(value, str) else float(value) if isinstance(value, int | float) else None
        )
        told = dict(cast("list[tuple[str, Any]]", facts(one)["scores"]))
        assert told == {"score": number or 0.0, "includes": number or 0.0}
    tests = {str(one.id) for one in found}
    assert len(tests) == len(VALUES) + 3  # no sample passes for another's next try
    stats = json.loads((at.folder / "out.json").read_text("utf-8"))["results"]["stats"]
    assert (stats["successes"], stats["failures"], stats["errors"]) == (7, 15, 1)


def test_every_eval_ever_says_each_sample_with_a_score_that_is_a_number(at: Terminal) -> None:
    found, was = by_id(exported(at, "every-eval-ever")), by_id(at.folder / "a.json")
    numbers = {key for key, one in was.items() if one["scores"][0][1] not in ([1, "x"], {"a": 1.5}, "NaN")}
    assert found.keys() == numbers
    shared = ("targets", "output", "error", "tokens", "latency")
    for key, one in found.items():
        if key[0] not in ("err", "a/b é"):
            assert {name: one[name] for name in (*shared, "inputs")} == {
                name: was[key][name] for name in (*shared, "inputs")
            }
    assert found["a/b é", 1]["output"] == "done"
    assert found["err", 1]["error"] == "late"


def test_events_say_each_score_with_its_label_and_reason(at: Terminal) -> None:
    said = json.loads(exported(at, "otel-events").read_text("utf-8"))
    ParseDict(said, LogsData())  # the format's own reader takes it
    events = said["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert len(events) == len(TOLD)
    told = [{one["key"]: next(iter(one["value"].values())) for one in event["attributes"]} for event in events]
    values = [one.get("gen_ai.evaluation.score.value", one.get("gen_ai.evaluation.score.label")) for one in told]
    expected = [
        *(value for value in ["C", "I", "P", "N", 0.25, 7.0, 1.0, '[1, "x"]', '{"a": 1.5}', "NaN"] for _ in (1, 2))
    ]
    assert values == [*expected, 0.5, 1.0, "C"]
    assert told[0]["gen_ai.evaluation.explanation"] == "it says answer 0 1"
    assert {one["gen_ai.evaluation.name"] for one in told} == {"includes"}


def calls(path: Path) -> list[tuple[str, Json, JsonValue, str | None]]:
    """The calls of the file's runs, each with what was given, what came of it, and how it failed."""
    return [
        (step.tool, step.arguments, step.result, step.error)
        for run in kept(path)[1]
        for step in run.fields.tool_calls_log or ()
    ]


def test_calls_that_stand_apart_from_what_was_said_go_out_in_every_format_that_has_words_for_them(at: Terminal) -> None:
    called = [
        {"name": "find", "inputParameters": {"q": 1}, "output": "r"},
        {"name": "look", "inputParameters": {"p": "x"}},
    ]
    (case, *_), source = DEEPEVAL["testCases"], at.folder / "test_run_1.json"
    written(source, {**DEEPEVAL, "testCases": [{**case, "toolsCalled": called}], "conversationalTestCases": []})
    forms = {"inspect-json": "a.json", "promptfoo": "b.json", "parquet": "c.parquet", "every-eval-ever": "d.json"}
    ended = at.many(
        ["import", source.name],
        *(["export", "log:deepeval/geo/test_run_1", "--format", form, "-o", out] for form, out in forms.items()),
    )
    assert [one.code for one in ended] == [0] * 5
    was = [("find", {"q": 1}, "r", None), ("look", {"p": "x"}, "", None)]
    texts = [(tool, {key: str(value) for key, value in given.items()}, *rest) for tool, given, *rest in was]
    for form, out in forms.items():
        path = at.folder / out.replace("d.json", "d_samples.jsonl")
        found = [(tool, given, result or "", error) for tool, given, result, error in calls(path)]
        assert found == (texts if form == "every-eval-ever" else was), form
        assert [one.produced and one.produced.output for one in samples(path)] == ["Paris"]


def test_a_conversation_in_the_words_of_openai_goes_out_in_those_of_inspect(at: Terminal) -> None:
    """tau-bench writes a null where nothing is said, and a call's name within its `function`."""
    written(at.folder / "m-airline.json", [TAU])
    export = ["export", "log:tau-bench/airline/m-airline", "--format", "inspect-json", "-o", "a.json"]
    ended = at.many(["import", "m-airline.json"], export)
    assert [one.code for one in ended] == [0, 0]
    (sample,) = json.loads((at.folder / "a.json").read_text("utf-8"))["samples"]
    said = {message["role"]: message for message in sample["messages"]}
    assert all(isinstance(message["content"], str) for message in sample["messages"])
    assert (said["tool"]["function"], said["tool"]["content"]) == ("find", "12A")
    (call,) = sample["messages"][1]["tool_calls"]
    assert (call["id"], call["function"], call["arguments"], call["type"]) == ("c1", "find", {"id": 7}, "function")
    assert calls(at.folder / "a.json") == calls(at.folder / "m-airline.json")
