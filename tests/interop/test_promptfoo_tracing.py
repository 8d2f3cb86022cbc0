"""`tracing` of a config: which spans an output is judged with, which are not known, and what is refused by name."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Cell, Matrix
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.interop.told_spans import told_spans
from minions_evals_mcp.targets.call_traces import MOST_SPANS, HeldSpans
from tests.hang import HANG_S
from tests.shared.fakes.scripted_model import scripted_model
from tests.workshop import START

pytestmark = pytest.mark.anyio
OWN = """import json, urllib.request
def call_api(prompt, options, context):
    _, trace, parent, _ = context["traceparent"].split("-")
    with open(__file__ + ".log", "a") as log:
        log.write(trace + "\\n")
    spans = [{"traceId": trace, "spanId": "00f067aa0ba902b7", "parentSpanId": parent, "name": "tool", "startTimeUnixNano": "1000000"}]
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()
    headers = {"content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(options["config"]["to"] + "/v1/traces", body, headers)).close()
    return {"output": prompt}
"""
NEVER_ENDING = """import socket
def call_api(prompt, options, context):
    begun = socket.create_connection(("127.0.0.1", %d))
    begun.sendall(b"POST /v1/traces HTTP/1.1\\r\\nhost: x\\r\\ncontent-type: application/json\\r\\ncontent-length: 9\\r\\n\\r\\n{")
    with open(__file__ + ".fd", "w") as kept:
        kept.write(str(begun.detach()))
    return {"output": prompt}
"""
ON = "tracing: {enabled: true}\n"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def listening(port: int) -> str:
    return f"tracing: {{enabled: true, otlp: {{http: {{enabled: true, port: {port}}}}}}}\n"


def sending(port: int) -> str:
    return f"prompts: ['{{{{w}}}}']\nproviders: [{{id: file://own.py, config: {{to: 'http://127.0.0.1:{port}'}}}}]\n"


def written(folder: Path, text: str) -> Path:
    (folder / "own.py").write_text(OWN)
    (folder / "c.yaml").write_text(text)
    return folder / "c.yaml"


async def run(engine: Engine, text: str, **environment: str) -> Matrix:
    path = written(engine.config.db.parent, text)
    given = ConfigOverrides(environment=environment, trust_code=True)
    evaluation = await anyio.to_thread.run_sync(lambda: read_config(path, now=START, overrides=given))
    with anyio.fail_after(HANG_S):
        return await evaluate(engine, evaluation, EvalOptions(), environment=environment)


def cells(matrix: Matrix) -> list[Cell]:
    return [cell for row in matrix.rows for cell in row.cells]


async def test_an_output_keeps_its_trace_and_is_not_asked_for_again(engine: Engine) -> None:
    port = free_port()
    text = sending(port) + listening(port)
    right = "tests:\n  - vars: {w: a}\n    assert: [{type: trace-span-count, value: {pattern: tool, min: 1}}]\n"
    first = await run(engine, text + right)
    assert [cell.passed for cell in cells(first)] == [True]
    assert await run(engine, text + right) == first
    log = engine.config.db.parent / "own.py.log"
    assert len(log.read_text().splitlines()) == 1, "the second time it was kept"
    untraced = await run(engine, "prompts: ['{{w}}']\nproviders: [echo]\n" + right)
    assert "the spans of this output are unknown" in cells(untraced)[0].reason


async def test_a_request_that_never_ends_holds_no_evaluation_up(engine: Engine) -> None:
    port, folder = free_port(), engine.config.db.parent
    (folder / "slow.py").write_text(NEVER_ENDING % port)
    head = f"prompts: [a]\nproviders: [file://slow.py]\n{listening(port)}"
    matrix = await run(engine, head + "tests: [{assert: [{type: trace-error-spans}]}]\n")
    os.close(int((folder / "slow.py.fd").read_text()))
    assert [cell.passed for cell in cells(matrix)] == [True]


async def test_a_port_that_is_taken_stops_the_evaluation_before_anything_runs(engine: Engine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        with pytest.raises(BadInputError, match=f"cannot listen on 127.0.0.1:{port}"):
            await run(engine, sending(port) + listening(port) + "tests: [{vars: {w: a}}]\n")
    assert not (engine.config.db.parent / "own.py.log").exists()


@pytest.mark.parametrize(
    ("what", "named"),
    [
        (
            "otlp: {http: {enabled: true, host: 0.0.0.0}}",
            "tracing.otlp.http.host: 0.0.0.0: spans are taken from this machine only",
        ),
        ("otlp: {http: {enabled: true, redactAttributes: [a]}}", "tracing.otlp.http.redactAttributes"),
        ("otlp: {grpc: {enabled: true, port: 4317}}", "tracing.otlp.grpc: spans are taken over HTTP"),
        ("otlp: {http: {enabled: true, port: 70000}}", "must be a port"),
        ("forwarding: {enabled: true, endpoint: 'http://x'}", "tracing.forwarding: spans are sent nowhere else"),
        ("provider: {id: tempo}", "tracing.provider"),
        ("commandToolNames: [run]", "tracing.commandToolNames"),
    ],
)
def test_what_of_tracing_is_not_carried_out_is_named(tmp_path: Path, what: str, named: str) -> None:
    path = written(tmp_path, f"prompts: [a]\nproviders: [echo]\ntracing: {{enabled: true, {what}}}\n")
    with pytest.raises(EvalsError) as refused:
        read_config(path, now=START)
    assert named in str(refused.value)


def test_what_is_off_is_no_tracing_and_single_tests_are_not_traced(tmp_path: Path) -> None:
    head = "prompts: [a]\nproviders: [echo]\n"
    off = "otlp: {http: {enabled: false, port: 1}, grpc: {enabled: false, port: 2}}, forwarding: {enabled: false}, storage: {type: sqlite}"
    found = read_config(written(tmp_path, head + f"tracing: {{enabled: true, {off}}}\n"), now=START)
    assert found.traces is not None
    assert found.traces.listening is None
    assert [note.split(": ")[1] for note in found.notes] == ["tracing.storage"]
    assert read_config(written(tmp_path, head + "tracing: {enabled: false}\n"), now=START).traces is None
    with pytest.raises(EvalsError, match="tracing of single tests"):
        read_config(written(tmp_path, head + "tests: [{metadata: {tracingEnabled: true}}]\n"), now=START)


async def test_what_is_not_known_of_a_trace_gives_no_verdict(engine: Engine) -> None:
    code = "tests:\n  - vars: {w: SAY a}\n    options: {repeat: %d}\n    assert: [{type: javascript, value: '%s'}]\n"
    echo = "prompts: ['{{w}}']\nproviders: [echo]\n" + ON
    once = await run(engine, echo + code % (1, "context.trace.metadata.testIdx === 0"))
    assert [cell.passed for cell in cells(once)] == [True]
    twice = await run(engine, echo + code % (2, "context.trace.metadata.testIdx === 0"))
    assert [cell.passed for cell in cells(twice)] == [None, None]
    named = await run(engine, echo + code % (2, 'context.trace.metadata.providerId === "echo"'))
    assert [cell.passed for cell in cells(named)] == [True, True]
    with scripted_model() as address:
        model = f"prompts: ['{{{{w}}}}']\nproviders: [{{id: 'openai:chat:m', config: {{apiBaseUrl: '{address}', apiKey: none}}}}]\n{ON}"
        spans = await run(engine, model + code % (1, "context.trace.spans.length > 0"))
        ids = await run(engine, model + code % (1, "context.trace.traceId.length === 32"))
        count = await run(engine, model + "tests: [{vars: {w: SAY a}, assert: [{type: trace-error-spans}]}]\n")
        steps = "tests: [{vars: {w: SAY a}, assert: [{type: 'trajectory:step-count', value: {max: 9}}]}]\n"
        trajectory = await run(engine, model + steps)
    assert [cells(matrix)[0].passed for matrix in (spans, ids, count, trajectory)] == [None, True, True, True]


async def test_an_address_with_a_secret_is_not_told(engine: Engine) -> None:
    with scripted_model() as address:
        head = (
            "prompts: ['{{w}}']\nproviders: [{id: http, %sconfig: {url: '{{env.MODEL_URL}}/spans?k={{env.API_KEY}}', method: POST,"
            " headers: {content-type: application/json}, body: {say: hi, to: 'http://127.0.0.1:%d', spans: []}}}]\n%s"
        )
        test = "tests: [{vars: {w: a}, assert: [{type: javascript, value: '%s'}]}]\n"
        port = free_port()
        label, plain = head % ("label: web, ", port, listening(port)), head % ("", port, listening(port))
        known = {"MODEL_URL": address, "API_KEY": "s3cret-of-mine"}
        name = await run(engine, label + test % 'context.trace.spans[0].name === "web"', **known)
        ident = await run(engine, label + test % "context.trace.metadata.providerId", **known)
        spans = await run(engine, plain + test % "context.trace.spans.length", **known)
        steps = "tests: [{vars: {w: a}, assert: [{type: 'trajectory:step-count', value: {max: 9}}]}]\n"
        counted = await run(engine, plain + steps, **known)
    assert [cells(matrix)[0].passed for matrix in (name, ident, spans, counted)] == [True, None, None, None]
    assert "the spans of this output are unknown" in cells(counted)[0].reason


def test_spans_of_protobuf_are_told_as_those_of_json() -> None:
    span: Json = {
        "traceId": "AB" * 16, "spanId": "CD" * 8, "name": "n", "kind": "SPAN_KIND_CLIENT", "startTimeUnixNano": "2500000",
        "status": {"code": "STATUS_CODE_ERROR"},
    }  # fmt: skip
    ((trace_id, told),) = told_spans({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    assert (trace_id, told) == (
        "ab" * 16,
        {
            "spanId": "cd" * 8, "name": "n", "startTime": 2.5, "statusCode": 2,
            "attributes": {"otel.span.kind": "client", "otel.span.kind_code": 3},
        },
    )  # fmt: skip
    for lacking in ("startTimeUnixNano", "spanId", "traceId"):
        one = json.loads(json.dumps({name: value for name, value in span.items() if name != lacking}))
        with pytest.raises(ValueError, match=lacking):
            list(told_spans({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}))


async def test_so_many_spans_are_held_of_one_trace_and_none_of_others() -> None:
    held = HeldSpans()
    held.begin("a")
    for number in range(MOST_SPANS + 5):
        held.add("a", {"spanId": str(number)})
    held.add("b", {"spanId": "1"})
    held.add("a", {"spanId": "0", "name": "again"})
    spans = await held.settled("a")
    assert (len(spans), spans[0]) == (MOST_SPANS, {"spanId": "0"})
    held.end("a")
    held.add("a", {"spanId": "1"})
    held.begin("a")
    assert await held.settled("a") == []
