"""Agent-runs of the real instrumentation packages, in four modes of capture, over gRPC, HTTP with protobuf and HTTP with JSON.

python -m tests.bench.telemetry PYTHON [--only PACKAGE] [--gzip]

PYTHON is one of an environment with opentelemetry-instrumentation-openai-v2, opentelemetry-instrumentation-openai and -anthropic,
openinference-instrumentation-openai and -anthropic, opentelemetry-exporter-otlp-proto-grpc, -proto-http and -json-http, openai, anthropic,
httpx and (for openai-v2 2.4b0) opentelemetry-util-genai 0.4b0.
Exits with 1 where the agent-runs of one package and mode differ between protocols.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import anyio

from agent.settings import Working
from agent.sources.otlp_http import otlp_app, otlp_intake
from agent.sources.otlp_judging import TraceJudging
from agent.sources.otlp_traces import TraceIntake
from minions_evals_mcp.interop.logs.otlp_endpoint import OtlpServer, otlp_places
from minions_evals_mcp.interop.logs.otlp_grpc import grpc_listening
from minions_evals_mcp.operations.engine import Engine
from tests.bench.telemetry.model import model_server
from tests.workshop import config_in, opened

if TYPE_CHECKING:
    from agent.daemon import Agent

PROTOCOLS = ("grpc", "http/protobuf", "http/json")
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
NEW = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
TRACELOOP = {
    "none": ("", {"TRACELOOP_TRACE_CONTENT": "false"}), "span": ("", {"TRACELOOP_TRACE_CONTENT": "true"}),
    "events": ("+events", {"TRACELOOP_TRACE_CONTENT": "true"}), "hidden events": ("+events", {"TRACELOOP_TRACE_CONTENT": "false"}),
}  # fmt: skip
OPENINFERENCE: dict[str, tuple[str, dict[str, str]]] = {
    "span": ("", {}), "no inputs": ("", {"OPENINFERENCE_HIDE_INPUTS": "true"}), "no outputs": ("", {"OPENINFERENCE_HIDE_OUTPUTS": "true"}),
    "none": ("", {"OPENINFERENCE_HIDE_INPUT_TEXT": "true", "OPENINFERENCE_HIDE_OUTPUT_TEXT": "true"}),
}  # fmt: skip
MODES: dict[str, dict[str, tuple[str, dict[str, str]]]] = {
    "official": {
        "none": ("", {CAPTURE: "false"}), "events": ("", {CAPTURE: "true"}), "span": ("", {CAPTURE: "SPAN_ONLY", **NEW}),
        "new events": ("", {CAPTURE: "EVENT_ONLY", **NEW}), "both": ("", {CAPTURE: "SPAN_AND_EVENT", **NEW}),
    },
    "traceloop-openai": TRACELOOP, "traceloop-anthropic": TRACELOOP,
    "openinference-openai": OPENINFERENCE, "openinference-anthropic": OPENINFERENCE,
}  # fmt: skip
Json = dict[str, Any]


@asynccontextmanager
async def listening(intake: TraceIntake, protocol: str) -> AsyncGenerator[str]:
    """Where the intake takes that protocol in."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        if protocol == "grpc":
            async with grpc_listening(otlp_intake(intake, None), bound, otlp_places()):
                yield url
            return
        started = anyio.Event()
        server = OtlpServer(otlp_app(intake, None), started.set)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [bound])
            await started.wait()
            yield url
            server.should_exit = True


async def runs_of(
    engine: Engine, python: str, package: str, mode: str, protocol: str, model: str, *, gzip: bool
) -> list[Json]:
    """What the agent-runs say, without what differs from process to process."""
    intake = TraceIntake(cast("Agent", SimpleNamespace(engine=engine, rhythm=Working().rhythm())), TraceJudging())
    suffix, settings = MODES[package][mode]
    packing = {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"} if gzip else {}
    async with listening(intake, protocol) as url:
        asker = str(Path(__file__).with_name("asker.py"))
        done = await anyio.run_process(
            [python, asker, package + suffix, protocol, url, model],
            env={"PATH": os.defpath, "HOME": tempfile.gettempdir(), **settings, **packing}, check=False,
        )  # fmt: skip
        if done.returncode:
            sys.exit(done.stderr.decode())
    said = [
        {
            **{key: one.get(key) for key in ("inputs", "outputs", "tokensUsed", "status", "stopReason")},
            "models": one.get("extra", {}).get("models"),
            "calls": [
                (step["tool"], step.get("arguments"), step.get("result")) for step in one.get("toolCallsLog") or ()
            ],
        }
        for one in (cast("Json", run["fields"]) for run in intake.whole())
    ]
    return sorted(said, key=str)


def told(runs: list[Json]) -> str:
    """How many of the three questions and answers the agent-runs have, and all tokens."""
    asked = sum(run["inputs"] == {"input": f"Q{number}?"} for number in range(3) for run in runs)
    answered = sum(run["outputs"] == {"output": f"A{number} ✓"} for number in range(3) for run in runs)
    return (
        f"{len(runs)} runs, {asked} questions, {answered} answers, {sum(run['tokensUsed'] or 0 for run in runs)} tokens"
    )


async def compared(python: str, only: str | None, *, gzip: bool) -> int:
    """The table; returns how many packages and modes differ between protocols."""
    different = 0
    with model_server() as model:
        for package, modes in MODES.items():
            for mode in modes if only in (None, package) else ():
                found: list[list[Json]] = []
                for protocol in PROTOCOLS:
                    with tempfile.TemporaryDirectory() as folder:
                        async with opened(config_in(Path(folder))) as engine:
                            found.append(await runs_of(engine, python, package, mode, protocol, model, gzip=gzip))
                is_same = found[0] == found[1] == found[2]
                different += not is_same
                said = f"{package:<24} {mode:<14} {'same' if is_same else 'DIFFERENT':<10} {told(found[0])}\n"
                if not is_same:
                    said += "".join(f"    {name}: {runs}\n" for name, runs in zip(PROTOCOLS, found, strict=True))
                sys.stdout.write(said)
    return different


def main() -> None:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("--only", choices=MODES)
    parser.add_argument("--gzip", action="store_true")
    chosen = parser.parse_args()
    sys.exit(bool(anyio.run(lambda: compared(chosen.python, chosen.only, gzip=chosen.gzip))))


if __name__ == "__main__":
    main()
