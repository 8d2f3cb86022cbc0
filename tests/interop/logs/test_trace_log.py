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


@pytest.mark.parametrize("form", ["spans.jsonl", "page.json"])
def test_spans_of_phoenix_are_read_from_its_tables_and_from_pages_of_its_api(tmp_path: Path, form: str) -> None:
    said = {"llm.input_messages": [{"message.role": "user", "message.content": "Roll"}],
            "llm.output_messages": [{"message.role": "assistant", "message.content": "A 4"}],
            "openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": None}  # fmt: skip
    span: Json = {"name": "chat", "parent_id": None, "start_time": 1760358832950, "end_time": 1760358832960,
                  "status_code": "ERROR", "status_message": "cut off", "events": []}  # fmt: skip
    ids = {"trace_id": "t9", "span_id": "cc"}
    row = {**span, **{f"context.{name}": value for name, value in ids.items()},
           **{f"attributes.{name}": value for name, value in said.items()}}  # fmt: skip
    page = {"data": [{**span, "context": ids, "attributes": said}], "next_cursor": None}
    _, (run,) = kept(written(tmp_path / form, [row] if form == "spans.jsonl" else page), "otel")
    assert (run.fields.inputs, run.fields.outputs) == ({"input": "Roll"}, {"output": "A 4"})
    assert (run.fields.status, run.fields.error_message) == ("failed", "cut off")
    assert str(run.fields.triggered_at).startswith("2025-10-13 12:33:52.95")


def _sdk_span(ident: str, parent: str | None, name: str, **attributes: object) -> Json:
    """A span as OpenTelemetry's SDK for Python writes it (`to_json`)."""
    return {
        "name": name, "context": {"trace_id": "0x" + "ab" * 16, "span_id": f"0x{ident}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL", "parent_id": parent and f"0x{parent}", "start_time": f"2026-11-28T19:00:0{ident[-1]}.5Z",
        "end_time": "2026-11-28T19:00:09.000001Z", "status": {"status_code": "UNSET"}, "attributes": attributes, "events": [],
        "links": [], "resource": {"attributes": {"service.name": "desk"}, "schema_url": ""},
    }  # fmt: skip


def _flat(span: Json) -> Json:
    """The same as other SDKs' exporters write it: its ids beside its name."""
    ids = {key: value.removeprefix("0x") for key, value in span["context"].items()}
    parent = span["parent_id"] and span["parent_id"].removeprefix("0x")
    kept_keys = ("name", "attributes", "status", "resource", "start_time", "end_time")
    return {**ids, "parent_span_id": parent, **{key: span[key] for key in kept_keys}}


ASKED = [{"role": "user", "content": "Spain?"}]
OF_SDK = [
    _sdk_span("01", None, "run", **{"openinference.span.kind": "AGENT", "gen_ai.agent.name": "geo"}),
    _sdk_span("02", "01", "db", **{"openinference.span.kind": "TOOL", "tool.name": "db", "output.value": "Madrid"}),
    _sdk_span(
        "03", "01", "chat",
        **{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 2,
           "gen_ai.input.messages": json.dumps(ASKED),
           "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Madrid."}]}]'},
    ),
]  # fmt: skip


@pytest.mark.parametrize("name", ["s.jsonl", "s.json"])
@pytest.mark.parametrize("is_flat", [True, False])
def test_spans_as_an_sdk_prints_them_are_read(tmp_path: Path, name: str, is_flat: bool) -> None:
    (run,) = kept(written(tmp_path / name, [_flat(one) if is_flat else one for one in OF_SDK]), "otel")[1]
    fields = run.fields
    assert (fields.agent_id, fields.inputs, fields.outputs) == ("geo", {"input": "Spain?"}, {"output": "Madrid."})
    assert (fields.tokens_used, fields.status) == (9, "success")
    assert [(call.tool, call.result) for call in fields.tool_calls_log or ()] == [("db", "Madrid")]
    assert fields.triggered_at is not None
    assert fields.triggered_at.isoformat() == "2026-11-28T19:00:01.500000+00:00"


def test_a_span_of_an_sdk_that_failed_or_has_no_end_says_so(tmp_path: Path) -> None:
    failed = {**OF_SDK[0], "status": {"status_code": "ERROR", "description": "no key"}}
    (run,) = kept(written(tmp_path / "f.jsonl", [failed]), "otel")[1]
    assert (run.fields.status, run.fields.error_message) == ("failed", "no key")
    (run,) = kept(written(tmp_path / "o.jsonl", [{**OF_SDK[0], "end_time": None}, *OF_SDK[1:]]), "otel")[1]
    assert (run.fields.status, run.fields.outputs) == ("running", {})


def test_what_googles_adk_writes_is_read(tmp_path: Path) -> None:
    """The model's whole request and answer stand as JSON in the span around the model's own; a tool's likewise."""
    asked = {"contents": [{"role": "user", "parts": [{"text": "15 × 37?"}]}]}
    calling = {"content": {"role": "model", "parts": [{"function_call": {"name": "calc", "args": {"e": "15*37"}}}]}}
    answer = {"content": {"role": "model", "parts": [{"text": "555."}]}}

    def call_llm(ident: str, response: Json) -> Json:
        held = {
            "gcp.vertex.agent.llm_request": json.dumps(asked),
            "gcp.vertex.agent.llm_response": json.dumps(response),
        }
        return _sdk_span(ident, "01", "call_llm", **held)

    tool = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "calc", "gcp.vertex.agent.llm_response": "{}",
        "gcp.vertex.agent.tool_call_args": '{"e": "15*37"}', "gcp.vertex.agent.tool_response": '{"result": "555"}',
    }  # fmt: skip
    used = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.usage.input_tokens": 40,
        "gen_ai.usage.output_tokens": 2,
    }
    spans = [
        _sdk_span("01", None, "invoke_agent", **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "math"}),
        call_llm("02", calling), _sdk_span("03", "02", "generate_content", **used), _sdk_span("04", "02", "execute_tool calc", **tool),
        call_llm("05", answer), _sdk_span("06", "05", "generate_content", **used),
    ]  # fmt: skip
    (run,) = kept(written(tmp_path / "a.jsonl", spans), "otel")[1]
    fields = run.fields
    assert (fields.inputs, fields.outputs, fields.tokens_used) == ({"input": "15 × 37?"}, {"output": "555."}, 84)
    calls = [(call.tool, call.arguments, call.result) for call in fields.tool_calls_log or ()]
    assert calls == [("calc", {"e": "15*37"}, {"result": "555"})]


def test_the_last_text_of_an_agents_messages_is_its_answer(tmp_path: Path) -> None:
    """As OpenInference writes them for Claude's Agent SDK: a part is `content.N`."""
    said = {
        "openinference.span.kind": "AGENT", "input.value": "Weather?",
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content.0": "I look.",
        "llm.output_messages.1.message.role": "assistant",
        "llm.output_messages.1.message.tool_calls.0.tool_call.function.name": "Agent",
        "llm.output_messages.2.message.role": "assistant", "llm.output_messages.2.message.content.0": "Sunny.",
    }  # fmt: skip
    (run,) = kept(written(tmp_path / "c.jsonl", [_sdk_span("01", None, "query", **said)]), "otel")[1]
    assert (run.fields.inputs, run.fields.outputs) == ({"input": "Weather?"}, {"output": "Sunny."})
