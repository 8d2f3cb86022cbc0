"""Traces as agent-runs: OpenTelemetry GenAI and OpenInference, in whatever order and pieces they come."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.arrivals import held_by
from minions_evals_mcp.interop.spans import spans_of
from minions_evals_mcp.interop.telemetry.traces import MOST_OPEN, ORPHANED_S, SETTLED_S, Traces
from minions_evals_mcp.ports import Arrived
from tests.shared.agent.desk import Json
from tests.shared.agent.traces import document, span, spoken
from tests.workshop import START

AGENT: Json = {
    "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Order desk", "gen_ai.conversation.id": "c1",
    "minions.prompt_version_ref": "p@2",
}  # fmt: skip
CHAT: Json = {
    "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 100,
    "gen_ai.usage.output_tokens": 20, "gen_ai.input.messages": spoken("user", "Where is order 7?"),
    "gen_ai.output.messages": spoken("assistant", "I will look."),
}  # fmt: skip
TOOL: Json = {
    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find_order", "gen_ai.tool.call.arguments": '{"id": 7}',
    "gen_ai.tool.call.result": '{"state": "sent"}',
}  # fmt: skip


def order_desk() -> list[Json]:
    """An agent that asks a model, calls two tools of which one fails, and asks again."""
    last: Json = {**CHAT, "gen_ai.output.messages": spoken("assistant", "It was sent.")}
    failing: Json = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "mail",
        "gen_ai.tool.call.arguments": "anna",
    }
    return [
        span("a1", "invoke_agent Order desk", AGENT, seconds=(0, 9)),
        span("a2", "chat m", CHAT, parent="a1", seconds=(1, 2)),
        span("a4", "execute_tool mail", failing, parent="a1", seconds=(5, 6), error="no such address"),
        span("a3", "execute_tool find_order", TOOL, parent="a1", seconds=(3, 4)),
        span("a5", "chat m", last, parent="a1", seconds=(7, 8)),
    ]


def runs(*documents: JsonValue, now: float = 100.0) -> list[Record[AgentRun]]:
    """The agent-runs that the traces hold, each as a record that fits its type."""
    traces = Traces()
    for one in documents:
        traces.add(spans_of(one), now=0.0)
    found = [record_from_wire(wire, new_id="none", now=START) for wire in traces.completed(now=now)]
    assert all(isinstance(one.fields, AgentRun) for one in found)
    return found  # pyright: ignore[reportReturnType]  checked above


def test_an_agents_span_and_its_steps_are_one_run_with_its_tool_calls() -> None:
    (run,) = runs(document(*order_desk()))
    fields = run.fields
    assert run.id == f"otel:{'ab' * 16}/a1"
    assert (fields.agent_id, fields.prompt_version_ref, fields.status) == ("Order-desk", "p@2", "success")
    assert (fields.inputs, fields.outputs) == ({"input": "Where is order 7?"}, {"output": "It was sent."})
    assert fields.tokens_used == 240
    assert fields.triggered_at is not None
    assert fields.completed_at is not None
    assert (fields.completed_at - fields.triggered_at).total_seconds() == 9
    assert fields.tool_calls_log is not None
    found, mailed = fields.tool_calls_log
    assert (found.tool, found.arguments, found.result, found.error) == (
        "find_order",
        {"id": 7},
        {"state": "sent"},
        None,
    )
    assert (mailed.arguments, mailed.error, mailed.duration_ms) == ({"input": "anna"}, "no such address", 1000)


@given(st.permutations(order_desk()), st.integers(1, 5))
def test_the_run_is_the_same_in_whatever_order_and_pieces_its_spans_come(spans: list[Json], size: int) -> None:
    pieces = [document(*spans[begin : begin + size]) for begin in range(0, len(spans), size)]
    assert runs(*pieces) == runs(document(*order_desk()))


def test_an_agent_under_another_agent_is_a_step_of_its_run() -> None:
    helper = span(
        "b1",
        "invoke_agent helper",
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
        parent="a1",
    )
    called = span(
        "b2", "execute_tool x", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}, parent="b1"
    )
    (run,) = runs(document(*order_desk(), helper, called))
    assert {one.tool for one in run.fields.tool_calls_log or ()} == {"find_order", "mail", "x"}


def test_two_agents_of_one_trace_are_two_runs() -> None:
    web = span("00", "POST /chat", {"http.method": "POST"})
    first, second = (span(name, name, {**AGENT, "gen_ai.agent.name": name}, parent="00") for name in ("f1", "f2"))
    assert [run.fields.agent_id for run in runs(document(web, first, second))] == ["f1", "f2"]


def test_a_failed_agent_is_a_failed_run_with_the_reason() -> None:
    (run,) = runs(document(span("a1", "agent", AGENT, error="out of tokens")))
    assert (run.fields.status, run.fields.error_message, run.fields.outputs) == ("failed", "out of tokens", {})


def test_openinference_is_read_too() -> None:
    agent: Json = {
        "openinference.span.kind": "AGENT", "agent.name": "desk", "input.value": '{"q": "order 7"}',
        "output.value": "It was sent.", "llm.token_count.prompt": 5, "llm.token_count.completion": 6, "llm.cost.total": 0.25,
    }  # fmt: skip
    tool: Json = {
        "openinference.span.kind": "TOOL",
        "tool.name": "find",
        "tool.parameters": '{"id": 7}',
        "output.value": "sent",
    }
    (run,) = runs(document(span("a", "desk", agent), span("b", "find", tool, parent="a")))
    fields = run.fields
    assert (fields.agent_id, fields.inputs, fields.outputs) == ("desk", {"q": "order 7"}, {"output": "It was sent."})
    assert (fields.tokens_used, fields.cost) == (11, 0.25)
    assert [(one.tool, one.arguments, one.result) for one in fields.tool_calls_log or ()] == [
        ("find", {"id": 7}, "sent")
    ]


def test_a_model_call_without_an_agent_is_a_run_of_its_service_with_flattened_messages() -> None:
    call: Json = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be kind.",
        "llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": "Hello",
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Hi",
    }  # fmt: skip
    (run,) = runs(document(span("a", "completion", call)))
    assert (run.fields.agent_id, run.fields.inputs, run.fields.outputs) == (
        "shop",
        {"input": "Hello"},
        {"output": "Hi"},
    )


def test_messages_may_be_structured_values() -> None:
    said: JsonValue = [{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]}]
    (run,) = runs(document(span("a", "agent", {**AGENT, "gen_ai.output.messages": said})))
    assert run.fields.outputs == {"output": "Hi"}


def test_a_trace_of_no_agent_and_no_model_is_no_run() -> None:
    assert runs(document(span("a", "GET /", {"http.method": "GET"}))) == []


def test_a_run_is_told_once_it_has_settled_and_then_never_again() -> None:
    traces = Traces()
    traces.add(spans_of(document(*order_desk()[1:])), now=0.0)
    assert traces.completed(now=500.0) == []
    traces.add(spans_of(document(order_desk()[0])), now=1000.0)
    assert traces.completed(now=1000.0 + SETTLED_S / 2) == []
    assert len(traces.completed(now=1000.0 + SETTLED_S)) == 1
    assert traces.completed(now=5000.0) == []


def test_a_parent_that_never_comes_is_waited_for_and_then_not() -> None:
    traces = Traces()
    traces.add(spans_of(document(span("a", "agent", AGENT, parent="ff"))), now=0.0)
    assert traces.completed(now=SETTLED_S * 2) == []
    assert len(traces.completed(now=ORPHANED_S)) == 1


def test_the_oldest_traces_are_given_up_where_too_many_wait() -> None:
    traces = Traces()
    spans = [span("a", "x", {}, trace=f"{number:032x}", parent="ff") for number in range(MOST_OPEN + 2)]
    assert traces.add(spans_of(document(*spans)), now=0.0) == [f"{0:032x}", f"{1:032x}"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"traceId": ""}, "no traceId"),
        ({"startTimeUnixNano": "soon"}, "no whole nanoseconds"),
        ({"endTimeUnixNano": str(2**63)}, "outside"),
    ],
)
def test_a_span_that_cannot_be_read_is_refused_with_its_place(change: Json, said: str) -> None:
    broken: Json = {**span("a", "agent", AGENT), **change}
    with pytest.raises(InvalidRecordError, match=f"runs.jsonl:3: .*{said}"):
        held_by(Arrived(json.dumps(document(broken)), "runs.jsonl:3"))


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["key", "value", "stringValue", "intValue", "arrayValue", "kvlistValue", "values", "status", "code", "attributes"]),
        inner, max_size=3), max_leaves=10)  # fmt: skip


@given(st.fixed_dictionaries({"traceId": ANY, "spanId": ANY, "attributes": ANY, "status": ANY, "name": ANY}))
def test_whatever_a_span_holds_it_is_read_or_refused(wire: Any) -> None:
    try:
        found = list(spans_of({"resourceSpans": [{"scopeSpans": [{"spans": [wire]}]}]}))
    except ValueError:
        return
    assert len(found) == 1


NAMES = st.sampled_from([
    "gen_ai.agent.id", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.usage.input_tokens", "gen_ai.tool.name",
    "gen_ai.tool.call.arguments", "input.value", "output.value", "llm.cost.total",
    "llm.input_messages.0.message.content", "minions.prompt_version_ref",
])  # fmt: skip
VALUES = st.recursive(
    st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from(['[{"role": 1}]', "{}", "[[[", "[null]"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "parts", "content", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(*[st.dictionaries(NAMES, VALUES, max_size=6)] * 3)
def test_whatever_an_agent_writes_into_its_spans_a_record_is_made_of_them(agent: Any, model: Any, tool: Any) -> None:
    wire = document(
        span("a", "agent", {"gen_ai.operation.name": "invoke_agent", **agent}),
        span("b", "model", {"gen_ai.operation.name": "chat", **model}, parent="a"),
        span("c", "tool", {"gen_ai.operation.name": "execute_tool", **tool}, parent="a"),
    )
    traces = Traces()
    traces.add(spans_of(wire), now=0.0)
    (made,) = traces.completed(now=0.0, at_once=True)
    try:
        record_from_wire(made, new_id="none", now=START)
    except InvalidRecordError:  # a number that is none, or a version's name that is none: kept as a dead letter
        return


def _messages(*said: tuple[str, str]) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in said])


TALK = (("user", "Hi"), ("assistant", "Hello"), ("user", "Where is order 7?"))
CALLED: list[Json] = [
    {"role": "user", "content": [{"type": "text", "text": "Look"}]},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "I will"}, {"type": "tool_use", "id": "1", "name": "look", "input": {}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "42"}]},
]


@pytest.mark.parametrize(
    ("given_to_model", "inputs"),
    [
        (_messages(*TALK), {"messages": [{"role": role, "content": text} for role, text in TALK]}),
        (
            _messages(*TALK, ("assistant", "On its way")),
            {"messages": [{"role": role, "content": text} for role, text in TALK]},
        ),
        (_messages(*TALK[:1]), {"input": "Hi"}),
        (_messages(*TALK[:2]), {"input": "Hi"}),
        (_messages(("system", "Be kind"), *TALK[:1]), {"input": "Hi"}),
        (json.dumps(CALLED), {"input": "Look"}),
    ],
)
def test_a_turn_of_a_conversation_is_asked_with_what_was_said_before_it(given_to_model: str, inputs: Json) -> None:
    """Each turn of a conversation is a trace of its own, whose model is given all that came before."""
    turn = [
        span("b1", "invoke_agent", AGENT),
        span("b2", "chat m", {**CHAT, "gen_ai.input.messages": given_to_model}, parent="b1"),
    ]
    assert [run.fields.inputs for run in runs(document(*turn))] == [inputs]
