"""A log of tool calls in anybody's shape is the same log: nothing of it is lost, and what names no tool is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import AgentRun, ToolCall, tool_calls_of
from minions_evals_mcp.domain.records import TYPES, fields_from_json, record_from_wire, wire_fields
from minions_evals_mcp.domain.step_shapes import SHAPE
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.score_rows import read_row
from tests.workshop import START

ORDER: JsonValue = {"id": 7, "state": "sent"}
ANTHROPIC: JsonValue = [
    {"role": "user", "content": "Where is order 7?"},
    {"role": "assistant", "content": [
        {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1", "name": "get_order", "input": {"id": 7}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": json.dumps(ORDER)}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_2", "name": "mail", "input": {"to": "anna"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True,
                                  "content": [{"type": "text", "text": "no such address"}]}]},
    {"role": "assistant", "content": "It was sent."},
]  # fmt: skip
BLOCKS: JsonValue = [
    {"type": "tool_use", "id": "toolu_1", "name": "get_order", "input": {"id": 7}},
    {"type": "tool_result", "tool_use_id": "toolu_1", "content": json.dumps(ORDER)},
    {"type": "tool_use", "id": "toolu_2", "name": "mail", "input": {"to": "anna"}},
    {"type": "tool_result", "tool_use_id": "toolu_2", "is_error": True, "content": "no such address"},
]
CHAT: JsonValue = [
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": 7}'}},
        {"id": "c2", "type": "function", "function": {"name": "mail", "arguments": '{"to": "anna"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(ORDER)},
    {"role": "tool", "tool_call_id": "c2", "content": "no such address", "status": "error"},
]  # fmt: skip
RESPONSES: JsonValue = [
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get_order", "arguments": '{"id": 7}'},
    {"type": "function_call_output", "call_id": "c1", "output": json.dumps(ORDER)},
    {"type": "mcp_call", "id": "m", "name": "mail", "arguments": '{"to": "anna"}', "error": "no such address"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It was sent."}]},
]
LANGCHAIN: JsonValue = [
    {"type": "human", "content": "Where is order 7?"},
    {"type": "ai", "content": "", "tool_calls": [
        {"name": "get_order", "args": {"id": 7}, "id": "c1", "type": "tool_call"},
        {"name": "mail", "args": {"to": "anna"}, "id": "c2", "type": "tool_call"}]},
    {"type": "tool", "content": json.dumps(ORDER), "name": "get_order", "tool_call_id": "c1", "status": "success"},
    {"type": "tool", "content": "no such address", "name": "mail", "tool_call_id": "c2", "status": "error"},
]  # fmt: skip
SERIALISED: JsonValue = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {
        "content": "", "tool_calls": [{"name": "get_order", "args": {"id": 7}, "id": "c1"}]}},
    {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": {
        "content": json.dumps(ORDER), "tool_call_id": "c1"}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "mail", "args": {"to": "anna"}, "id": "c2"}]}},
    {"type": "tool", "data": {"content": "no such address", "tool_call_id": "c2", "status": "error"}},
]  # fmt: skip
ACTIONS: JsonValue = [
    [{"tool": "get_order", "tool_input": {"id": 7}, "log": "Thought: look"}, json.dumps(ORDER)],
    {"run_type": "tool", "name": "mail", "inputs": {"to": "anna"}, "error": "no such address",
     "start_time": "2026-01-01T10:00:00", "end_time": "2026-01-01T10:00:01.500", "id": "r2", "parent_run_id": "r0"},
]  # fmt: skip
SPANS: JsonValue = [
    {"spanId": "a0", "name": "invoke_agent desk", "attributes": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}},
    {"spanId": "a1", "parentSpanId": "a0", "name": "execute_tool get_order", "startTimeUnixNano": "1790000000000000000",
     "endTimeUnixNano": "1790000000250000000", "attributes": [
         {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
         {"key": "gen_ai.tool.call.arguments", "value": {"stringValue": '{"id": 7}'}},
         {"key": "gen_ai.tool.call.result", "value": {"stringValue": json.dumps(ORDER)}}]},
    {"context": {"span_id": "a2"}, "parent_id": "a0", "name": "mail", "start_time": "2026-01-01T10:00:00Z",
     "status": {"status_code": "ERROR", "description": "no such address"},
     "attributes": {"openinference.span.kind": "TOOL", "input.value": '{"to": "anna"}'}},
    {"spanId": "a3", "parentSpanId": "a0", "name": "chat m", "attributes": {"gen_ai.operation.name": "chat"}},
]  # fmt: skip
OURS: JsonValue = [
    {"tool": "get_order", "arguments": {"id": 7}, "result": ORDER},
    {"tool": "mail", "arguments": {"to": "anna"}, "error": "no such address"},
]
EVERY_SHAPE = {
    "ours": OURS, "anthropic messages": ANTHROPIC, "anthropic blocks": BLOCKS, "openai chat": CHAT, "openai responses": RESPONSES,
    "langchain messages": LANGCHAIN, "langchain serialised": SERIALISED, "langchain actions and runs": ACTIONS,
    "opentelemetry": SPANS,
}  # fmt: skip


def said(calls: tuple[ToolCall, ...]) -> list[tuple[object, ...]]:
    return [(call.tool, call.arguments, call.result, call.error) for call in calls]


SAME = [("get_order", {"id": 7}, ORDER, None), ("mail", {"to": "anna"}, None, "no such address")]


@pytest.mark.parametrize("log", EVERY_SHAPE.values(), ids=EVERY_SHAPE)
def test_every_shape_is_the_same_log(log: JsonValue) -> None:
    assert said(tool_calls_of(log)) == SAME


@pytest.mark.parametrize("log", EVERY_SHAPE.values(), ids=EVERY_SHAPE)
def test_an_agent_run_and_a_row_take_every_shape_and_keep_it_as_ours(log: JsonValue) -> None:
    wire = {"id": "r", "type": "agent-run", "fields": {"agentId": "a", "toolCallsLog": log}}
    run = record_from_wire(wire, new_id="", now=START)  # pyright: ignore[reportArgumentType]  JSON all through
    assert isinstance(run.fields, AgentRun)
    assert said(run.fields.tool_calls_log or ()) == SAME
    again = fields_from_json(TYPES["agent-run"], json.dumps(wire_fields(run.fields)))
    assert again == run.fields
    row: Any = {"output": "x", "toolCalls": log, "assert": [{"type": "trajectory:tool-used", "value": "mail"}]}
    assert read_row(json.dumps(row)).answer()["pass"] is True


def test_what_a_span_or_a_run_says_of_time_agent_and_place_is_kept() -> None:
    looked, mailed = tool_calls_of(SPANS)
    assert (looked.id, looked.agent, looked.duration_ms) == ("a1", "desk", 250)
    assert looked.started_at is not None
    assert looked.started_at.isoformat() == "2026-09-21T14:13:20+00:00"
    assert (mailed.id, mailed.agent, mailed.parent_id) == ("a2", "desk", None)
    _, ran = tool_calls_of(ACTIONS)
    assert (ran.id, ran.parent_id, ran.duration_ms) == ("r2", "r0", 1500)
    assert ran.started_at is not None
    assert ran.started_at.isoformat() == "2026-01-01T10:00:00+00:00"


def test_keys_that_a_step_does_not_know_are_kept_in_extra() -> None:
    (step,) = tool_calls_of(
        [{"tool": "a", "args": "x", "score": 0.5, "extra": {"seed": 1}, "startedAt": "yesterday", "tokensUsed": "few"}]
    )
    assert step.arguments == {"input": "x"}
    assert step.extra == {"seed": 1, "score": 0.5, "startedAt": "yesterday", "tokensUsed": "few"}


def test_an_agent_runs_own_extra_keys_are_kept_and_come_back() -> None:
    fields: Any = {"agentId": "a", "stopReason": "max_turns", "model": "m-1", "session": {"id": 4}}
    wire: JsonValue = {"id": "r", "type": "agent-run", "fields": fields}
    run = record_from_wire(wire, new_id="", now=START)
    assert isinstance(run.fields, AgentRun)
    assert (run.fields.stop_reason, run.fields.extra) == ("max_turns", {"model": "m-1", "session": {"id": 4}})
    assert record_from_wire(run.wire(), new_id="", now=START) == run


def test_a_plain_step_is_written_as_before() -> None:
    (step,) = tool_calls_of([{"tool": "a"}])
    assert step.model_dump(mode="json") == {
        "tool": "a", "arguments": {}, "result": None, "error": None, "durationMs": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("log", "complaint"),
    [
        ([{"tool": "a"}, {"action": "b"}], "step 2 has no tool's name"),
        ([{"tool": " "}], "step 1 has no tool's name"),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "x"}], "step 1 has no tool's name"),
        ([4], "step 1 is no object"),
        ({"tool": "a"}, "no list"),
        ([{"tool": "a", "durationMs": -1}], "0.durationMs: Input should be greater"),
    ],
)
def test_a_step_that_is_none_is_refused_with_the_shape(log: JsonValue, complaint: str) -> None:
    with pytest.raises(InvalidRecordError) as refusal:
        tool_calls_of(log)
    assert complaint in str(refusal.value)
    assert SHAPE in str(refusal.value)


def test_a_record_with_a_nameless_step_is_refused_with_the_shape() -> None:
    wire: JsonValue = {"id": "r", "type": "agent-run", "fields": {"agentId": "a", "toolCallsLog": [{"nothing": 1}]}}
    with pytest.raises(InvalidRecordError) as refusal:
        record_from_wire(wire, new_id="", now=START)
    assert refusal.value.field == "fields.toolCallsLog"
    assert SHAPE in str(refusal.value)
