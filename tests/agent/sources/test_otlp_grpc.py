"""The OTLP/gRPC endpoint: what grpcio's client sends is taken, refused or asked for again exactly as over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import cast

import anyio
import anyio.to_thread
import httpx2
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from pydantic import JsonValue

from agent.sources import otlp_listeners
from agent.sources.otlp_http import otlp_app, otlp_intake
from minions_evals_mcp.errors import StoreError, UnsupportedError
from minions_evals_mcp.interop.logs.otlp_intake import AGAIN_S, OtlpIntake
from minions_evals_mcp.interop.logs.otlp_requests import LARGEST, PROTOBUF
from minions_evals_mcp.operations.engine import Engine
from tests.agent.sources.test_otlp import TOKEN, as_protobuf, intake_on, rubric, trace
from tests.hang import HANG_S
from tests.shared.agent.desk import Desk, Json
from tests.shared.agent.grpc_exporter import called, exported, grpc_served, needs_grpc, path
from tests.shared.agent.waiting import until
from tests.shared.interop.session_shapes import LOGS, plan
from tests.shared.interop.telemetry_shapes import Piece

pytestmark = needs_grpc
CODES = {200: "OK", 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 503: "UNAVAILABLE"}
TRACES = path("traces")


async def over_http(signal_: str, body: bytes, engine: Engine) -> httpx2.Response:
    """What the HTTP endpoint answers to the same."""
    web = httpx2.ASGITransport(app=otlp_app(intake_on(engine), None))
    async with httpx2.AsyncClient(transport=web, base_url="http://x") as client:
        return await client.post(f"/v1/{signal_}", content=body, headers={"Content-Type": PROTOBUF})


@pytest.mark.parametrize("gzip", [False, True])
async def test_a_trace_is_taken_packed_or_not(engine: Engine, gzip: bool) -> None:
    intake = intake_on(engine)
    (reply,) = await exported(otlp_intake(intake, None), [(TRACES, as_protobuf(trace(1)))], gzip=gzip)
    assert (reply.code, reply.message) == ("OK", b"")
    (run,) = intake.whole()
    assert run["id"] == f"otel:{7919:032x}/{1:016x}"


@pytest.mark.parametrize("gzip", [False, True])
async def test_what_is_no_export_is_refused_as_over_http_and_nothing_is_taken(engine: Engine, gzip: bool) -> None:
    bodies = [
        b"\xff\xff", b"\x0a\x05a", b"\x0a\x00" * (LARGEST // 2), b"0" * (LARGEST + 1), as_protobuf(trace(1))[:-3],
        bytes(range(256)) * 50,
    ]  # fmt: skip
    intake = intake_on(engine)
    replies = await exported(otlp_intake(intake, None), [(TRACES, body) for body in bodies], gzip=gzip)
    for body, reply in zip(bodies, replies, strict=True):
        answered = await over_http("traces", body, engine)
        assert reply.code == CODES[answered.status_code] == "INVALID_ARGUMENT", body[:20]
        if not gzip:
            assert reply.why == answered.json()["message"]
        assert "google.rpc.retryinfo-bin" not in reply.trailers
    assert intake.whole() == []


async def test_what_is_not_taken_is_said_in_partial_success_as_over_http(engine: Engine) -> None:
    data: list[JsonValue] = [{} for _ in range(300)]
    points: Json = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "x", "sum": {"dataPoints": data}}]}]}]}
    calls = [
        ("logs", Piece("logs", "x", {"body": {"stringValue": "hello ✓"}}).body(protobuf=True)),
        ("metrics", ParseDict(points, ExportMetricsServiceRequest()).SerializeToString()),
    ]
    replies = await exported(otlp_intake(intake_on(engine), None), [(path(name), body) for name, body in calls])
    for (name, body), reply in zip(calls, replies, strict=True):
        answered = await over_http(name, body, engine)
        assert (reply.code, reply.message) == ("OK", answered.content)
    assert ExportLogsServiceResponse.FromString(replies[0].message).partial_success.rejected_log_records == 1
    assert ExportMetricsServiceResponse.FromString(replies[1].message).partial_success.rejected_data_points == 300


@pytest.mark.parametrize("host", LOGS)
async def test_logs_of_a_coding_agent_are_one_agent_run_each_turn(host: str, engine: Engine) -> None:
    made = plan(3)
    (logs,) = LOGS[host](made)
    intake = intake_on(engine)
    body = ParseDict(logs, ExportLogsServiceRequest()).SerializeToString()
    (reply,) = await exported(otlp_intake(intake, None), [(path("logs"), body)])
    assert (reply.code, reply.message) == ("OK", b"")
    asked = [cast("Json", run["fields"])["inputs"] for run in intake.whole()]
    assert asked == [{"input": turn.prompt} for turn in made.turns]


async def test_a_token_is_asked_where_there_is_one(engine: Engine) -> None:
    calls = [(TRACES, as_protobuf(trace(1)))]
    for given, code in (((), "UNAUTHENTICATED"), (("Bearer other",), "UNAUTHENTICATED"), ((f"Bearer {TOKEN}",), "OK")):
        metadata = [("authorization", one) for one in given]
        (reply,) = await exported(otlp_intake(intake_on(engine), TOKEN), calls, metadata=metadata)
        assert reply.code == code


async def test_what_is_no_call_of_otlp_is_unimplemented(engine: Engine) -> None:
    (reply,) = await exported(otlp_intake(intake_on(engine), None), [("/x.Y/Z", b"")])
    assert (reply.code, "/x.Y/Z" in reply.why) == ("UNIMPLEMENTED", True)


async def _unwritable(_: Json) -> None:
    raise StoreError("the disk is full.")


async def _nothing(_: Json) -> None:
    """Keep nothing."""


async def _broken(_: Json) -> None:
    raise KeyError("a fault of ours")


@pytest.mark.parametrize(
    "intake", [OtlpIntake({"traces": _nothing}, None, lambda: True), OtlpIntake({"traces": _unwritable})]
)
async def test_what_cannot_be_taken_now_is_asked_for_again(intake: OtlpIntake) -> None:
    from google.rpc.error_details_pb2 import RetryInfo  # noqa: PLC0415  of the dev extra
    from google.rpc.status_pb2 import Status  # noqa: PLC0415  as above

    (reply,) = await exported(intake, [(TRACES, as_protobuf(trace(1)))])
    assert reply.code == "UNAVAILABLE"
    status = Status.FromString(reply.trailers["grpc-status-details-bin"])
    assert (status.code, status.message) == (14, reply.why)
    told = RetryInfo()
    (detail,) = status.details
    assert detail.Unpack(told)
    assert told == RetryInfo.FromString(reply.trailers["google.rpc.retryinfo-bin"])
    assert told.retry_delay.seconds == AGAIN_S


async def test_a_request_that_breaks_us_ends_no_other() -> None:
    calls = [(TRACES, as_protobuf(trace(1))), (path("logs"), b"")]
    replies = await exported(OtlpIntake({"traces": _broken, "logs": _nothing}), calls)
    assert [reply.code for reply in replies] == ["INTERNAL", "OK"]


async def test_a_small_request_does_not_wait_for_large_ones(engine: Engine) -> None:
    intake = otlp_intake(intake_on(engine), None)
    small, large = as_protobuf(trace(1)), as_protobuf(trace(2, "Here." * 20_000))
    answered: list[str] = []

    async def export(name: str, body: bytes, address: str) -> None:
        (reply,) = await anyio.to_thread.run_sync(lambda: called(address, [(TRACES, body)], gzip=True))
        answered.append(f"{name} {reply.code}")

    with anyio.fail_after(HANG_S):
        async with (
            grpc_served(intake) as address,
            anyio.create_task_group() as tasks,
            intake.large,
        ):  # one is being read
            tasks.start_soon(export, "large", large, address)
            await anyio.sleep(0.1)
            await export("small", small, address)
    assert answered == ["small OK", "large OK"]


def test_grpc_without_its_packages_is_refused_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(_: str) -> None:
        return None

    monkeypatch.setattr(otlp_listeners, "find_spec", found)
    with pytest.raises(UnsupportedError, match="h2, which is not installed") as refused:
        otlp_listeners.vet_grpc()
    assert "minions-evals-mcp[otlp-grpc]" in str(refused.value)


EXPORTER = """
import sys
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint="http://" + sys.argv[1], timeout=60)))
for number in range(int(sys.argv[2])):
    with provider.get_tracer("t").start_as_current_span("chat m") as span:
        span.set_attributes({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Where is %d?"}]}]' % number,
            "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Here."}]}]',
        })
provider.shutdown()
"""
WHOLE = 5


def _address(process: subprocess.Popen[bytes]) -> str:
    """Where the daemon listens for gRPC, by its log, which is read on."""
    assert process.stderr is not None
    told: Json = {}
    while told.get("event") != "otlp-grpc-listening":
        told = json.loads(process.stderr.readline())
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return str(told["address"])


def test_traces_of_the_real_exporter_are_judged_by_the_rubric(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.imported(*rubric())
    with desk.running("--otlp-grpc", "127.0.0.1:0", "--otlp-rubric", "r") as process:
        done = subprocess.run(
            [sys.executable, "-c", EXPORTER, _address(process), str(WHOLE)],
            timeout=HANG_S,
            check=True,
            capture_output=True,
        )
        assert done.stderr == b""
        until(lambda: desk.rows("SELECT count(*), sum(passed) FROM test_run") == [(WHOLE, WHOLE)])
        listed = {"name": "telemetry", "does": "received by", "how": "OTLP/gRPC at 127.0.0.1:0"}
        assert desk.status()["integrations"] == [listed]
    assert desk.sound()


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_answered_with_ok_is_there_however_the_agent_ends(tmp_path: Path, ended_by: signal.Signals) -> None:
    desk = Desk(tmp_path)
    desk.imported(*rubric())
    kept: list[int] = []
    with desk.running("--otlp-grpc", "127.0.0.1:0", "--otlp-rubric", "r") as process:
        address = _address(process)

        def export() -> None:
            for number in range(1, 10_000):
                (reply,) = called(address, [(TRACES, as_protobuf(trace(number)))])
                if reply.code != "OK":
                    assert reply.code == "UNAVAILABLE", reply
                    return
                kept.append(number)

        exporter = threading.Thread(target=export)
        exporter.start()
        until(lambda: len(kept) >= 20)
        process.send_signal(ended_by)
        process.wait(HANG_S)
        exporter.join(HANG_S)
    with desk.running("--otlp-grpc", "127.0.0.1:0", "--otlp-rubric", "r"):
        until(lambda: desk.rows("SELECT count(*) FROM test_run")[0][0] >= len(kept))
    asked = {f"otel:{number * 7919:032x}/{number:016x}" for number in kept}
    assert asked <= {ident for (ident,) in desk.rows("SELECT id FROM minion WHERE type = 'agent-run'")}
    assert desk.sound()
