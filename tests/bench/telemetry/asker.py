"""Asks a model three questions with a package's instrumentation on, and exports what it tells. Runs where the package is installed.

python asker.py PACKAGE PROTOCOL ENDPOINT MODEL_URL
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from anthropic import Anthropic
from openai import OpenAI
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import set_tracer_provider

MODULES = {
    "official": ("opentelemetry.instrumentation.openai_v2", "OpenAIInstrumentor"),
    "traceloop-openai": ("opentelemetry.instrumentation.openai", "OpenAIInstrumentor"),
    "traceloop-anthropic": ("opentelemetry.instrumentation.anthropic", "AnthropicInstrumentor"),
    "openinference-openai": ("openinference.instrumentation.openai", "OpenAIInstrumentor"),
    "openinference-anthropic": ("openinference.instrumentation.anthropic", "AnthropicInstrumentor"),
}
EXPORTERS = {
    "grpc": "opentelemetry.exporter.otlp.proto.grpc", "http/protobuf": "opentelemetry.exporter.otlp.proto.http",
    "http/json": "opentelemetry.exporter.otlp.json.http",
}  # fmt: skip
MODULE_OF = {"traces": "trace_exporter", "logs": "_log_exporter"}


def exporter(protocol: str, signal: str, endpoint: str) -> Any:
    """The package's own exporter of that signal."""
    module = importlib.import_module(f"{EXPORTERS[protocol]}.{MODULE_OF[signal]}")
    kind = "LogExporter" if signal == "logs" else "SpanExporter"
    (made,) = (value for name, value in vars(module).items() if name.startswith("OTLP") and name.endswith(kind))
    return made(endpoint=endpoint if protocol == "grpc" else f"{endpoint}/v1/{signal}")


def provided(protocol: str, endpoint: str) -> tuple[Any, Any]:
    """Providers that export at once, when a span or a record ends."""
    about = Resource.create({"service.name": "desk"})
    traces, logs = TracerProvider(resource=about), LoggerProvider(resource=about)
    traces.add_span_processor(SimpleSpanProcessor(exporter(protocol, "traces", endpoint)))
    logs.add_log_record_processor(SimpleLogRecordProcessor(exporter(protocol, "logs", endpoint)))
    set_tracer_provider(traces)
    set_logger_provider(logs)
    return traces, logs


TOOL: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "integer"}}}


def ask_openai(url: str, tracer: Any) -> None:
    """Three questions to an OpenAI model: a plain one, one streamed, one with a tool call."""
    client: Any = OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0)
    asked: list[list[Any]] = [
        [{"role": "system", "content": "Be kind."}, {"role": "user", "content": f"Q{number}?"}] for number in range(3)
    ]
    client.chat.completions.create(model="gpt-4o", messages=asked[0])
    options: Any = {"include_usage": True}
    for _ in client.chat.completions.create(model="gpt-4o", messages=asked[1], stream=True, stream_options=options):
        pass
    tools: Any = [{"type": "function", "function": {"name": "find", "parameters": TOOL}}]
    with tracer.start_as_current_span("desk"):
        said = client.chat.completions.create(model="gpt-4o", messages=asked[2], tools=tools).choices[0].message
        (call,) = said.tool_calls
        result: Any = {"role": "tool", "tool_call_id": call.id, "content": "found"}
        client.chat.completions.create(model="gpt-4o", messages=[*asked[2], said, result], tools=tools)


def ask_anthropic(url: str, tracer: Any) -> None:
    """The same questions to an Anthropic model."""
    client: Any = Anthropic(base_url=url, api_key="k", max_retries=0)
    about: Any = {"model": "claude-sonnet-4-5", "max_tokens": 99, "system": "Be kind."}
    asked: list[list[Any]] = [[{"role": "user", "content": f"Q{number}?"}] for number in range(3)]
    client.messages.create(messages=asked[0], **about)
    for _ in client.messages.create(messages=asked[1], stream=True, **about):
        pass
    tools: Any = [{"name": "find", "input_schema": TOOL}]
    with tracer.start_as_current_span("desk"):
        said = client.messages.create(messages=asked[2], tools=tools, **about)
        (call,) = (part for part in said.content if part.type == "tool_use")
        result: Any = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "found"}],
        }
        content: Any = [part.model_dump(exclude_none=True) for part in said.content]
        client.messages.create(
            messages=[*asked[2], {"role": "assistant", "content": content}, result], tools=tools, **about
        )


def main(package: str, protocol: str, endpoint: str, url: str) -> None:
    """Ask, export, and end once all is sent."""
    traces, logs = provided(protocol, endpoint)
    module, name = MODULES[package.removesuffix("+events")]
    more: dict[str, Any] = {"use_legacy_attributes": False} if package.endswith("+events") else {}
    getattr(importlib.import_module(module), name)(**more).instrument(tracer_provider=traces)
    ask = ask_anthropic if "anthropic" in package else ask_openai
    ask(url, traces.get_tracer("desk"))
    traces.shutdown()
    logs.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
