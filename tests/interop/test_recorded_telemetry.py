"""Telemetry that the real packages sent, recorded: three requests each, one of them streamed, one with a tool call.

Made with opentelemetry-instrumentation-openai-v2 2.4b0, OpenLLMetry's opentelemetry-instrumentation-openai and -anthropic 0.62.4,
openinference-instrumentation-openai 0.1.66 and -anthropic 3.1.0, each asking a fake server for what `asked` says.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import httpx2
import pytest

from agent.settings import Working
from agent.sources.otlp_http import otlp_app, otlp_intake
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import Observed, Skipped
from minions_evals_mcp.domain.records import Record, of_type, record_from_wire
from minions_evals_mcp.interop.logs.otlp_requests import JSON, PROTOBUF
from minions_evals_mcp.interop.spans import spans_of
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.targets.recorded import observed_run
from tests.shared.agent.desk import Json
from tests.shared.agent.grpc_exporter import exported, needs_grpc, path
from tests.shared.agent.traces import document, span
from tests.shared.interop.telemetry_shapes import Piece
from tests.workshop import START

if TYPE_CHECKING:
    from agent.daemon import Agent

RECORDED = Path(__file__).parent.parent / "shared" / "interop" / "recorded"
WITH_CONTENT = (
    "official.events", "official.new-both", "traceloop-openai.span", "traceloop-openai.events", "traceloop-anthropic.span",
    "oinf-openai.span", "oinf-anthropic.span",
)  # fmt: skip
PROTOCOLS = ("protobuf", "json", pytest.param("grpc", marks=needs_grpc))
HIDDEN = ("official.none", "oinf-openai.hide-text")
LOST = {("traceloop-openai.events", 1)}
"""The answer of a streamed request, which OpenLLMetry sends as an event without the id of its span."""
COUNTED_TWICE = {("traceloop-anthropic.span", 1): 1}
"""Tokens that OpenLLMetry counts too many: it adds the first event's one to the sum that the last event tells."""


def _pieces(name: str) -> list[Piece]:
    lines = (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [Piece(**json.loads(line)) for line in lines]


async def _runs(engine: Engine, pieces: list[Piece], protocol: str) -> list[Record[AgentRun]]:
    """The agent-runs that the endpoint makes of the pieces, in the order of the requests."""
    intake = TraceIntake(cast("Agent", SimpleNamespace(engine=engine, rhythm=Working().rhythm())), TraceJudging())
    if protocol == "grpc":
        calls = [(path(piece.signal), piece.body(protobuf=True)) for piece in pieces]
        assert {reply.code for reply in await exported(otlp_intake(intake, None), calls)} == {"OK"}
    else:
        await _over_http(intake, pieces, protocol)
    found = (of_type(record_from_wire(run, new_id="none", now=START), AgentRun) for run in intake.whole())
    return sorted((run for run in found if run is not None), key=lambda run: str(run.fields.triggered_at))


async def _over_http(intake: TraceIntake, pieces: list[Piece], protocol: str) -> None:
    transport = httpx2.ASGITransport(app=otlp_app(intake, None))
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        for piece in pieces:
            kind, is_protobuf = (PROTOBUF, True) if protocol == "protobuf" else (JSON, False)
            answer = await client.post(
                f"/v1/{piece.signal}", content=piece.body(protobuf=is_protobuf), headers={"Content-Type": kind}
            )
            assert answer.status_code == 200


def _tokens(name: str, number: int) -> int:
    """What the fake server says that the requests used: 100 and 10, each plus the request's number. The third asks twice."""
    return (110 + 2 * number) * (2 if number == 2 else 1) + COUNTED_TWICE.get((name, number), 0)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", WITH_CONTENT)
async def test_requests_answers_tokens_models_and_calls_are_those_that_were_asked(
    engine: Engine, name: str, protocol: str, order: int
) -> None:
    runs = await _runs(engine, _pieces(name)[::order], protocol)
    runs = [
        run for run in runs if run.fields.inputs
    ]  # Anthropic's client tells of its streams by itself, without content
    for number, run in enumerate(runs):
        fields = run.fields
        assert fields.inputs == {"input": f"Q{number}?"}
        assert fields.outputs == ({} if (name, number) in LOST else {"output": f"A{number} ✓"})
        assert fields.tokens_used == _tokens(name, number)
        assert len(cast("list[str]", fields.extra["models"])) == 1
        calls = [(call.tool, call.arguments, call.result) for call in fields.tool_calls_log or ()]
        assert calls == ([("find", {"id": 2}, "found")] if number == 2 else [])
    assert len(runs) == 3


@pytest.mark.parametrize("name", HIDDEN)
async def test_content_that_is_hidden_is_no_answer_and_nobody_judges_it(engine: Engine, name: str) -> None:
    runs = await _runs(engine, _pieces(name), "protobuf")
    assert [run.fields.tokens_used for run in runs] == [_tokens(name, number) for number in range(3)]
    for run in runs:
        assert (run.fields.inputs, run.fields.outputs) == ({}, {})
        assert (run.fields.status, run.fields.stop_reason) == ("success", "content not recorded")
    seen = [observed_run(run, timeout_ms=None) for run in runs]
    assert [type(one) for one in seen] == [Skipped, Skipped, Observed], "a call is known, and can be judged"
    assert isinstance(seen[0], Skipped)
    assert seen[0].reason.endswith("has no recorded output: switch on the capture of content in its instrumentation")


async def test_a_call_that_two_spans_tell_of_is_counted_once(engine: Engine) -> None:
    """Anthropic's client and an instrumentation around it each write a span, with the same tokens."""
    pieces = _pieces("oinf-anthropic.span")
    assert len(pieces) == 9, "four requests by two, and the span around the last two"
    runs = await _runs(engine, pieces, "json")
    assert sorted(run.fields.tokens_used or 0 for run in runs) == [110, 112, 112, 228]


async def test_a_call_is_counted_once_whose_wrapper_names_no_response(engine: Engine) -> None:
    """Without content on its spans OpenLLMetry leaves out the response's id, which Anthropic's client beside it tells."""
    runs = await _runs(engine, _pieces("traceloop-anthropic.events"), "json")
    (run,) = (run for run in runs if run.fields.inputs)
    assert (run.fields.inputs, run.fields.outputs) == ({"input": "Q2?"}, {"output": "A2 ✓"})
    assert run.fields.tokens_used == 228


ROOT = "d" * 16
APART: dict[str, tuple[Json, tuple[int, int], str]] = {
    "around it": ({}, (0, 3), ROOT), "it names a response of its own": ({"gen_ai.response.id": "r2"}, (0, 3), ROOT),
    "it used other tokens": ({"gen_ai.usage.input_tokens": 13}, (0, 3), ROOT), "it ended before": ({}, (0, 1), ROOT),
    "it is another's": ({}, (0, 3), "e" * 16),
}  # fmt: skip


@pytest.mark.parametrize("how", APART)
async def test_only_a_span_around_the_same_call_is_counted_once(engine: Engine, how: str) -> None:
    own, seconds, parent = APART[how]
    used: Json = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 12}
    agent: Json = {"gen_ai.operation.name": "invoke_agent"}
    made = document(
        span(ROOT, "desk", agent, seconds=(0, 9)), span("e" * 16, "step", {}, parent=ROOT, seconds=(0, 9)),
        span("1" * 16, "chat m", {**used, "gen_ai.response.id": "r1"}, parent=ROOT, seconds=(1, 2)),
        span("2" * 16, "chat m", {**used, **own}, parent=parent, seconds=seconds),
    )  # fmt: skip
    intake = TraceIntake(cast("Agent", SimpleNamespace(engine=engine, rhythm=Working().rhythm())), TraceJudging())
    await intake.add(list(spans_of(made)))
    (run,) = intake.whole()
    both = 12 + int(cast("int", own.get("gen_ai.usage.input_tokens", 12)))
    assert cast("Json", run["fields"])["tokensUsed"] == (12 if how == "around it" else both)
