"""Spans in files: whole traces however their spans lie, the two naming schemes, scores that come as events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.logs.sample import Recorded, SkippedSample
from tests.shared.agent.traces import document, span
from tests.shared.interop.log_parts import CHAT
from tests.shared.interop.makers import Json, extra, foreign, kept, read, samples, written

SCORE = {
    "name": "gen_ai.evaluation.result", "timeUnixNano": "1",
    "attributes": [
        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "tone"}},
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}},
        {"key": "gen_ai.evaluation.score.label", "value": {"stringValue": "fair"}},
        {"key": "gen_ai.evaluation.explanation", "value": {"stringValue": "curt"}},
        {"key": "own", "value": {"stringValue": "x"}},
    ],
}  # fmt: skip


def traced(trace: str, *spans: Json) -> Json:
    """A document whose spans are of that trace."""
    for one in spans:
        one["traceId"] = trace * 16
    return document(*spans)


def test_a_trace_is_one_run_however_far_its_spans_lie_apart(tmp_path: Path) -> None:
    first, second = span("a", "agent", {"gen_ai.operation.name": "invoke_agent"}), span("b", "chat m", CHAT, parent="a")
    lines = [traced("ab", second), traced("cd", span("c", "chat m", CHAT)), traced("ab", first)]
    _, runs = kept(written(tmp_path / "t.jsonl", lines), "otel")
    assert [run.id for run in runs] == [f"otel:{'cd' * 16}/c", f"otel:{'ab' * 16}/a"]
    assert all(run.fields.outputs == {"output": "Here."} for run in runs)
    assert extra(runs[0])["attributes"]["own.key"] == "kept"


def test_evaluations_that_stand_on_spans_are_foreign_scores(tmp_path: Path) -> None:
    judged = {**span("c", "chat m", CHAT), "events": [SCORE]}
    _, (run,) = kept(written(tmp_path / "t.json", traced("cd", judged)))
    assert foreign(run) == [
        {
            "name": "tone",
            "value": 0.5,
            "foreign": True,
            "label": "fair",
            "explanation": "curt",
            "attributes": {"own": "x"},
        }
    ]


def test_a_trace_without_a_model_is_left_out_and_counted(tmp_path: Path) -> None:
    _, items = read(written(tmp_path / "t.json", traced("ee", span("x", "GET /", {"http.method": "GET"}))))
    assert [type(one) for one in items] == [SkippedSample]


def test_one_call_by_either_naming_is_the_same_run(tmp_path: Path) -> None:
    otel: Json = {
        "gen_ai.operation.name": "chat", "gen_ai.response.model": "m-1", "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Where?"}]}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Here."}]}]),
    }  # fmt: skip
    other: Json = {
        "openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.token_count.prompt": 9, "llm.token_count.completion": 2,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "Where?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Here.",
        "input.value": '{"model": "m", "messages": []}',
    }  # fmt: skip
    told = [
        item.wire["fields"]
        for name, said in (("a.json", otel), ("b.json", other))
        for item in read(written(tmp_path / name, said), "otel")[1]
        if isinstance(item, Recorded)
    ]
    first, second = (
        {key: value for key, value in one.items() if key != "extra"} for one in told if isinstance(one, dict)
    )
    assert first == second
    assert (first["inputs"], first["outputs"], first["tokensUsed"]) == ({"input": "Where?"}, {"output": "Here."}, 11)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "x"}]}]}]}', "a span has no traceId"),
        (json.dumps(document({"traceId": "a", "spanId": "b", "startTimeUnixNano": "soon"})), "no whole nanoseconds"),
        ('{"resourceSpans": [{"scopeSpans": [', "it is cut off"),
        ('{"resourceSpans": [' + "[" * 100_000, "cut off|nested too deeply"),
    ],
)  # fmt: skip
def test_damaged_spans_are_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidRecordError, match=f"t.json.*({reason})"):
        samples(path, "otel")
