"""The OTLP/HTTP endpoint: what exporters send is judged as it comes, a share of it, so much a day; what is none is refused."""

from __future__ import annotations

import base64
import gzip
import json
import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx2
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pydantic import JsonValue
from structlog.testing import capture_logs

from agent.daemon import Agent
from agent.settings import Working
from agent.sources.otlp_http import bound, otlp_app
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import UNKNOWN, TraceIntake
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.logs.otlp_requests import JSON, LARGEST, PROTOBUF
from minions_evals_mcp.operations.engine import Engine
from tests.shared.agent.desk import Desk, Json, record
from tests.shared.agent.traces import document, span, spoken
from tests.shared.agent.waiting import until
from tests.shared.interop.session_shapes import LOGS, claude_logs, plan

TOKEN = "a-token-of-the-exporters"
WHOLE, RIGHT = 12, 4


def trace(number: int, said: str = "Here.") -> Json:
    """A trace of one model's call."""
    attributes: Json = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.input.messages": spoken("user", f"Where is {number}?"), "gen_ai.output.messages": spoken("assistant", said),
    }  # fmt: skip
    return document(span(f"{number:016x}", "chat m", attributes, trace=f"{number * 7919:032x}"))


def as_protobuf(said: Json) -> bytes:
    """The document as an exporter writes it: ids are bytes there."""
    copied = json.loads(json.dumps(said))
    for resource in copied["resourceSpans"]:
        for one in resource["scopeSpans"][0]["spans"]:
            for name in ("traceId", "spanId"):
                one[name] = base64.b64encode(bytes.fromhex(one[name])).decode()
    return ParseDict(copied, ExportTraceServiceRequest()).SerializeToString()


def intake_on(engine: Engine) -> TraceIntake:
    """An intake that keeps in the engine's store; nothing is asked of its agent but that."""
    return TraceIntake(cast("Agent", SimpleNamespace(engine=engine, rhythm=Working().rhythm())), TraceJudging())


async def posted(
    body: bytes, kind: str, *, intake: TraceIntake, token: str | None = None, path: str = "/v1/traces", **headers: str
) -> httpx2.Response:
    """What the endpoint answers."""
    transport = httpx2.ASGITransport(app=otlp_app(intake, token))
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as client:
        return await client.post(path, content=body, headers={"Content-Type": kind, **headers})


def rubric() -> list[Json]:
    """A rubric that a rule judges by: the answer says where."""
    guide = json.dumps([{"type": "contains", "value": "Here"}])
    criterion: dict[str, JsonValue] = {
        "rubricId": "r",
        "name": "Says where",
        "judgeType": "heuristic",
        "scoringGuide": guide,
    }
    return [
        record("r", "rubric", name="Place", criteriaIds=["r/c"], passingThreshold=1),
        record("r/c", "rubric-criterion", **criterion),
    ]


def test_traces_of_an_exporter_are_judged_by_the_rubric_and_a_fall_is_told_once(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.imported(*rubric())
    options = ("--otlp", "127.0.0.1:0", "--otlp-rubric", "r", "--otlp-alert", "0.9", "--otlp-daily", str(WHOLE))
    with desk.running(*options) as process:
        assert process.stderr is not None
        told = [json.loads(process.stderr.readline()) for _ in range(2)]
        (url,) = [one["url"] for one in told if one["event"] == "otlp-listening"]
        threading.Thread(target=process.stderr.read, daemon=True).start()
        for number in range(1, WHOLE + 4):  # three more than the day takes
            said = trace(number, "Here." if number <= RIGHT else "Gone.")
            body, kind = (as_protobuf(said), PROTOBUF) if number % 2 else (json.dumps(said).encode(), JSON)
            headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
            assert httpx2.post(url, content=gzip.compress(body), headers=headers).status_code == 200
        until(lambda: desk.rows("SELECT count(*) FROM test_run") == [(WHOLE,)])
        until(lambda: desk.rows("SELECT count(*) FROM outbox WHERE id LIKE 'otlp-alert:%'") == [(2,)])
    assert desk.rows("SELECT sum(passed) FROM test_run") == [(RIGHT,)]
    assert desk.rows("SELECT count(*) FROM minion WHERE type = 'agent-run'") == [(WHOLE,)]
    assert desk.sound()


@pytest.mark.parametrize("encoding", ["", "gzip"])
async def test_protobuf_and_json_say_the_same(encoding: str, engine: Engine) -> None:
    for body, kind, answer in ((as_protobuf(trace(1)), PROTOBUF, b""), (json.dumps(trace(1)).encode(), JSON, b"{}")):
        packed = gzip.compress(body) if encoding else body
        intake = intake_on(engine)
        answered = await posted(packed, kind, intake=intake, **{"Content-Encoding": encoding})
        assert (answered.status_code, answered.content, answered.headers["content-type"]) == (200, answer, kind)
        (run,) = intake.whole()
        assert run["id"] == f"otel:{7919:032x}/{1:016x}"


async def test_what_is_no_export_of_traces_is_refused_and_nothing_is_taken(engine: Engine) -> None:
    bomb = gzip.compress(b"0" * (LARGEST + 1))
    cut = gzip.compress(json.dumps(trace(1)).encode())[:-9]
    damaged = json.dumps(document({"traceId": "a"})).encode()
    empty = gzip.compress(b"\x0a\x00" * (LARGEST // 2))  # eight million messages in sixteen kilobytes
    nothing = gzip.compress(b'{"resourceSpans": [' + b"{}," * (LARGEST // 4) + b"{}]}")
    deep = b'{"resourceSpans": ' + b"[" * 100_000
    lost = json.dumps({"resourceSpans": [{"scopeSpans": 7}]}).encode()
    for body, kind, encoding, status in (
        (b"\xff\xff", PROTOBUF, "", 400), (b"{", JSON, "", 400), (b"[]", JSON, "", 400), (damaged, JSON, "", 400),
        (empty, PROTOBUF, "gzip", 400), (nothing, JSON, "gzip", 400), (deep, JSON, "", 400), (lost, JSON, "", 400),
        (bomb, JSON, "gzip", 400), (cut, JSON, "gzip", 400), (b"{}", JSON, "br", 400), (b"x" * (LARGEST + 1), JSON, "", 400),
        (b"{}", "text/plain", "", 415),
    ):  # fmt: skip
        intake = intake_on(engine)
        answered = await posted(body, kind, intake=intake, **{"Content-Encoding": encoding})
        assert (answered.status_code, bool(answered.json()["message"])) == (status, True), body[:20]
        assert intake.whole() == []


async def test_the_log_says_how_many_spans_came_and_what_they_lack(engine: Engine) -> None:
    intake = intake_on(engine)
    plain = document(span("1" * 16, "GET /", {"http.route": "/"}, trace="2" * 32))
    for said, event in (
        (trace(1), {"spans": 1, "of_agents": 1, "traces_waiting": 1, "log_level": "info"}),
        (plain, {"spans": 1, "of_agents": 0, "hint": UNKNOWN, "log_level": "warning"}),
    ):
        await posted(json.dumps(said).encode(), JSON, intake=intake)
        with capture_logs() as logged:
            await intake.settle()
            await intake.settle()  # nothing came since: nothing is said
        (told,) = logged
        assert told.items() >= {"event": "otlp-spans", **event}.items()


async def test_a_token_is_asked_where_there_is_one_and_pages_are_refused(engine: Engine) -> None:
    body = json.dumps(trace(1)).encode()
    assert (await posted(body, JSON, intake=intake_on(engine), token=TOKEN)).status_code == 401
    assert (
        await posted(body, JSON, intake=intake_on(engine), token=TOKEN, Authorization="Bearer other")
    ).status_code == 401
    assert (
        await posted(body, JSON, intake=intake_on(engine), token=TOKEN, Authorization=f"Bearer {TOKEN}")
    ).status_code == 200
    assert (await posted(body, JSON, intake=intake_on(engine), Origin="http://evil")).status_code == 403


def test_an_address_that_is_open_to_a_network_needs_a_token() -> None:
    for address, token, words in (
        ("0.0.0.0:0", None, "reachable over the network"),
        ("0.0.0.0:0", "short", "reachable over the network"),
        ("4318", None, "HOST:PORT"),
    ):
        with pytest.raises(BadInputError, match=words):
            bound(address, token)
    with bound("127.0.0.1:0", None) as found:
        assert found.getsockname()[0] == "127.0.0.1"


def test_a_share_of_traces_is_taken_by_their_ids_and_the_same_everywhere() -> None:
    ids = [f"{number * 0x9E3779B97F4A7C15:032x}"[-32:] for number in range(4000)]
    tenth, half = TraceJudging(rate=0.1), TraceJudging(rate=0.5)
    taken = {ident for ident in ids if tenth.takes(ident)}
    assert 300 < len(taken) < 500
    assert taken <= {ident for ident in ids if half.takes(ident)}
    for wrong in ({"rate": 0}, {"rate": 2}, {"daily": 0}, {"alert_below": 3}):
        with pytest.raises(BadInputError, match="out of range"):
            TraceJudging(**wrong)  # pyright: ignore[reportArgumentType]  numbers of any kind


def _logs_protobuf(document_: Json) -> bytes:
    return ParseDict(document_, ExportLogsServiceRequest()).SerializeToString()


@pytest.mark.parametrize("host", LOGS)
async def test_logs_of_a_coding_agent_are_taken_in_both_formats(host: str, engine: Engine) -> None:
    made = plan(3)
    (logs,) = LOGS[host](made)
    runs: list[list[Json]] = []
    for body, kind in ((json.dumps(logs).encode(), JSON), (_logs_protobuf(logs), PROTOBUF)):
        intake = intake_on(engine)
        answered = await posted(body, kind, intake=intake, path="/v1/logs")
        assert answered.status_code == 200
        unread = ExportLogsServiceResponse.FromString(answered.content) if kind == PROTOBUF else answered.json()
        assert unread in ({}, ExportLogsServiceResponse())
        runs.append(intake.whole())
    assert runs[0] == runs[1]
    asked = [cast("Json", run["fields"])["inputs"] for run in runs[0]]
    assert asked == [{"input": turn.prompt} for turn in made.turns]


async def test_what_is_not_taken_is_said_in_partial_success(engine: Engine) -> None:
    other: Json = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "hello"}}]}]}]}
    answered = await posted(json.dumps(other).encode(), JSON, intake=intake_on(engine), path="/v1/logs")
    said = answered.json()["partialSuccess"]
    assert (answered.status_code, said["rejectedLogRecords"]) == (200, "1")
    assert said["errorMessage"].endswith("left out: hello")
    in_protobuf = await posted(_logs_protobuf(other), PROTOBUF, intake=intake_on(engine), path="/v1/logs")
    part = ExportLogsServiceResponse.FromString(in_protobuf.content).partial_success
    assert (part.rejected_log_records, part.error_message) == (1, said["errorMessage"])
    data: list[JsonValue] = [{} for _ in range(300)]
    points: Json = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "x", "sum": {"dataPoints": data}}]}]}]}
    metrics = await posted(
        ParseDict(points, ExportMetricsServiceRequest()).SerializeToString(),
        PROTOBUF,
        intake=intake_on(engine),
        path="/v1/metrics",
    )
    assert ExportMetricsServiceResponse.FromString(metrics.content).partial_success.rejected_data_points == 300
    spans = await posted(
        json.dumps(document(span("1" * 16, "GET /", {}, trace="2" * 32))).encode(), JSON, intake=intake_on(engine)
    )
    assert spans.json() == {"partialSuccess": {"rejectedSpans": "0", "errorMessage": UNKNOWN}}


async def test_messages_as_openllmetry_writes_them_are_read(engine: Engine) -> None:
    attributes: Json = {
        "llm.request.type": "chat", "gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.completion_tokens": 2,
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": '[{"type": "text", "text": "Where?"}]',
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Here.",
    }  # fmt: skip
    intake = intake_on(engine)
    sent = json.dumps(document(span("1" * 16, "openai.chat", attributes, trace="2" * 32))).encode()
    assert (await posted(sent, JSON, intake=intake)).json() == {}
    (run,) = intake.whole()
    fields = cast("Json", run["fields"])
    assert (fields["inputs"], fields["outputs"], fields["tokensUsed"]) == ({"input": "Where?"}, {"output": "Here."}, 9)


@pytest.mark.parametrize("value", ['{"stringValue": "%s"}', '{"intValue": "%s"}', '{"intValue": %s}'])
async def test_a_count_beyond_every_number_is_no_count(value: str, engine: Engine) -> None:
    said = json.dumps(claude_logs(plan(1))[0])
    for digits in (25, 400):
        intake = intake_on(engine)
        huge = re.sub(r'(_tokens", "value": )\{[^}]*\}', rf"\g<1>{value % ('9' * digits)}", said)
        assert huge != said
        assert (await posted(huge.encode(), JSON, intake=intake, path="/v1/logs")).status_code in {200, 400}
        intake.whole()


@pytest.mark.parametrize(
    "moment", ["9" * 400, '"' + "9" * 5000 + '"', '"' + "9" * 19 + '"', "1e308", '"never"', "{}", "null"]
)
async def test_a_moment_that_is_none_breaks_no_turn(moment: str, engine: Engine) -> None:
    said = json.dumps(claude_logs(plan(1))[0])
    for place, into in (
        (r'("event.timestamp", "value": )\{[^}]*\}', f'{{"intValue": {moment}}}'),
        (r'("event.sequence", "value": )\{[^}]*\}', f'{{"stringValue": {moment}}}'),
        (r'("timeUnixNano": )"[^"]*"', moment),
    ):
        intake = intake_on(engine)
        spoilt = re.sub(place, rf"\g<1>{into}", said)
        assert (await posted(spoilt.encode(), JSON, intake=intake, path="/v1/logs")).status_code in {200, 400}
        intake.whole()
