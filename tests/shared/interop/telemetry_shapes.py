"""One planned session as OpenTelemetry carries it: spans, log events or both, with the content in one, the other or neither."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pydantic import JsonValue

from minions_evals_mcp.domain.values import from_millis, iso
from tests.shared.agent.desk import Json
from tests.shared.agent.traces import BEGAN, SECOND, spoken, tagged
from tests.shared.interop.session_shapes import MODELS, Plan, Planned, Turn

MODES = ("no-content", "spans", "events", "old-events", "both", "only-events")
"""Where the content is: on the spans, in the conventions' log event, in the older ones, on both; or there is no span at all."""


@dataclass(frozen=True)
class Piece:
    """What an exporter sends: one span or one log record, of a service."""

    signal: str
    service: str
    item: Json

    def document(self) -> Json:
        """The piece as a request of its own."""
        about: Json = {"attributes": [{"key": "service.name", "value": {"stringValue": self.service}}]}
        resource, scope, items = (
            ("resourceSpans", "scopeSpans", "spans")
            if self.signal == "traces"
            else ("resourceLogs", "scopeLogs", "logRecords")
        )
        return {resource: [{"resource": about, scope: [{"scope": {"name": "t"}, items: [self.item]}]}]}

    def body(self, *, protobuf: bool) -> bytes:
        """The request's body."""
        written = json.dumps(self.document())
        if not protobuf:
            return written.encode()
        copied = json.loads(written)
        resource = copied["resourceSpans" if self.signal == "traces" else "resourceLogs"][0]
        (item,) = (
            resource["scopeSpans"][0]["spans"] if self.signal == "traces" else resource["scopeLogs"][0]["logRecords"]
        )
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in item:
                item[name] = base64.b64encode(bytes.fromhex(item[name])).decode()
        request = ExportTraceServiceRequest() if self.signal == "traces" else ExportLogsServiceRequest()
        return ParseDict(copied, request).SerializeToString()


class _Writer:
    """Spans and events of one session, each a tenth of a second after the last."""

    def __init__(self, made: Plan, service: str) -> None:
        self.made, self.service = made, service
        self.pieces: list[Piece] = []
        self._nanos = BEGAN
        self._drawn = random.Random(f"{made.ident}/{service}")  # noqa: S311  no secret

    def ident(self, digits: int) -> str:
        """An id of so many hex digits."""
        return f"{self._drawn.getrandbits(4 * digits) | 1:0{digits}x}"

    def now(self) -> int:
        """The next time in nanoseconds."""
        self._nanos += SECOND // 10
        return self._nanos

    def span(self, name: str, trace: str, ident: str, parent: str, begun: int, attributes: Json, **more: Json) -> None:
        """Write a span that ends now."""
        self.pieces.append(Piece("traces", self.service, {
            "traceId": trace, "spanId": ident, **({"parentSpanId": parent} if parent else {}), "name": name,
            "startTimeUnixNano": str(begun), "endTimeUnixNano": str(self.now()), "attributes": _listed(attributes), **more,
        }))  # fmt: skip

    def event(self, name: str, fields: Json, *, within: tuple[str, str] | None = None, body: Json | str = "") -> None:
        """Write a log record, within a trace and a span where it was."""
        nanos = self.now()
        stamp: Json = {"event.timestamp": iso(from_millis(nanos // 1_000_000))}
        ids: Json = {} if within is None else {"traceId": within[0], "spanId": within[1]}
        self.pieces.append(Piece("logs", self.service, {
            "timeUnixNano": str(nanos), "eventName": name, "body": tagged(body), **ids,  # pyright: ignore[reportArgumentType]  JSON
            "attributes": _listed({**fields, **({} if name.startswith("gen_ai.") else stamp)}),  # pyright: ignore[reportArgumentType]  as above
        }))  # fmt: skip


def _listed(attributes: Json) -> list[JsonValue]:
    return [{"key": key, "value": tagged(value)} for key, value in attributes.items()]


def genai(made: Plan, mode: str) -> list[Piece]:
    """Any agent by the GenAI conventions: an agent's span for each turn, and below it models and tools."""
    writer = _Writer(made, "shop")
    for turn in made.turns:
        trace, root, begun = writer.ident(32), writer.ident(16), writer.now()
        for call in (*turn.calls, None):
            _genai_model(writer, turn, call, mode, (trace, root))
            if call is not None and mode != "only-events":
                fields: Json = {
                    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "run", "gen_ai.tool.call.id": call.ident,
                }  # fmt: skip
                writer.span("execute_tool run", trace, writer.ident(16), root, writer.now(), fields)
        if mode != "only-events":
            agent: Json = {
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": made.ident,
            }  # fmt: skip
            writer.span("invoke_agent desk", trace, root, "", begun, agent)
    return writer.pieces


def _genai_model(writer: _Writer, turn: Turn, call: Planned | None, mode: str, above: tuple[str, str]) -> None:
    trace, root = above
    ident, begun = writer.ident(16), writer.now()
    fresh, cached, written = turn.tokens
    used: Json = {
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.conversation.id": writer.made.ident,
        "gen_ai.usage.input_tokens": fresh + cached, "gen_ai.usage.output_tokens": written,
    }  # fmt: skip
    said = turn.answer if call is None else f"I run {call.ident}."
    content: Json = {
        "gen_ai.input.messages": spoken("user", turn.prompt), "gen_ai.output.messages": spoken("assistant", said),
    }  # fmt: skip
    if mode in ("events", "both", "only-events"):
        details = {**used, **content}
        writer.event("gen_ai.client.inference.operation.details", details, within=(trace, ident))
    if mode == "old-events":
        writer.event(
            "gen_ai.user.message", {"gen_ai.system": "x"}, within=(trace, ident), body={"content": turn.prompt}
        )
        choice: Json = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        writer.event("gen_ai.choice", {"gen_ai.system": "x"}, within=(trace, ident), body=choice)
    if mode != "only-events":
        own = {**used, **(content if mode in ("spans", "both") else {})}
        writer.span("chat m", trace, ident, root, begun, own)


def claude(made: Plan, mode: str) -> list[Piece]:
    """Claude Code: an interaction for each turn; its answer is in an event alone."""
    writer = _Writer(made, "claude-code")
    own: Json = {"session.id": made.ident, "gen_ai.conversation.id": made.ident}
    is_traced, is_logged = mode != "only-events", mode not in ("spans", "no-content")
    for number, turn in enumerate(made.turns):
        trace, root, begun = writer.ident(32), writer.ident(16), writer.now()
        about: Json = {"session.id": made.ident, "prompt.id": f"p{number}"}

        def told(name: str, fields: Json, about: Json = about, within: tuple[str, str] = (trace, root)) -> None:
            if is_logged:
                writer.event(f"claude_code.{name}", {**about, **fields, "event.name": name}, within=within if is_traced else None,
                             body=f"claude_code.{name}")  # fmt: skip

        told("user_prompt", {"prompt": turn.prompt})
        fresh, cached, written = turn.tokens
        for call in (*turn.calls, None):
            used: Json = {
                "input_tokens": fresh,
                "cache_read_tokens": cached,
                "cache_creation_tokens": 0,
                "output_tokens": written,
            }
            if is_traced:
                model: Json = {
                    **own,
                    **used,
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": MODELS["claude-code"],
                }
                writer.span("claude_code.llm_request", trace, writer.ident(16), root, writer.now(), model)
            told("api_request", {**used, "model": MODELS["claude-code"], "cost_usd": 0.25})
            if call is None:
                continue
            name, key = ("Edit", "file_path") if call.path else ("Bash", "command")
            asked = call.path or call.command
            if is_traced:
                tool: Json = {**own, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call.ident,
                              ("file_path" if call.path else "full_command"): asked}  # fmt: skip
                ident = writer.ident(16)
                failed: Json = {"error": "Shell command failed"} if call.code else {}
                writer.span(
                    "claude_code.tool.execution", trace, writer.ident(16), ident, writer.now(), {**own, **failed}
                )
                writer.span("claude_code.tool", trace, ident, root, writer.now(), tool)
            ended: Json = {"success": "false", "error": "Shell command failed"} if call.code else {"success": "true"}
            told(
                "tool_result",
                {"tool_name": name, "tool_use_id": call.ident, "tool_input": json.dumps({key: asked}), **ended},
            )
        told("assistant_response", {"response": turn.answer})
        if is_traced:
            prompt: Json = {} if mode == "no-content" else {"user_prompt": turn.prompt}
            interaction: Json = {**own, **prompt, "gen_ai.operation.name": "invoke_agent"}
            writer.span("claude_code.interaction", trace, root, "", begun, interaction)
    return writer.pieces


def gemini(made: Plan, mode: str) -> list[Piece]:
    """Gemini CLI: a trace for each call of the model and of a tool; the turn's id is in all of them."""
    writer = _Writer(made, "gemini-cli")
    is_traced, is_logged, is_told = mode != "only-events", mode not in ("spans", "no-content"), mode != "no-content"
    for number, turn in enumerate(made.turns):
        prompt = f"{made.ident}########{number}"

        def told(name: str, fields: Json, prompt: str = prompt) -> None:
            if is_logged:
                named: Json = {"session.id": made.ident, "prompt_id": prompt, "event.name": f"gemini_cli.{name}"}
                writer.event(f"gemini_cli.{name}", {**named, **fields}, body="Said.")

        told("user_prompt", {"prompt": turn.prompt})
        fresh, cached, written = turn.tokens
        for call in (*turn.calls, None):
            parts: list[Json] = [{"text": turn.answer}] if call is None else [{"functionCall": {"name": "x"}}]
            own: Json = {"gen_ai.conversation.id": made.ident, "gen_ai.agent.name": "gemini-cli"}
            if is_traced:
                context: Json = {"text": "<session_context>x"}
                said: Json = {
                    "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [context, {"text": turn.prompt}]}]),
                    "gen_ai.output.messages": json.dumps([{"role": "model", "parts": parts}]),
                }  # fmt: skip
                model: Json = {
                    **own, **(said if is_told else {}), "gen_ai.operation.name": "llm_call", "gen_ai.prompt.name": prompt,
                    "gen_ai.request.model": MODELS["gemini-cli"], "gen_ai.usage.input_tokens": fresh + cached,
                    "gen_ai.usage.output_tokens": written,
                }  # fmt: skip
                writer.span("llm_call", writer.ident(32), writer.ident(16), "", writer.now(), model)
            used: Json = {"model": MODELS["gemini-cli"], "input_token_count": fresh + cached, "cached_content_token_count": cached,
                          "output_token_count": written}  # fmt: skip
            answer: Json = (
                {"response_text": json.dumps([{"candidates": [{"content": {"parts": parts}}]}])} if call is None else {}
            )
            told("api_response", {**used, **answer})
            if call is not None:
                _gemini_tool(writer, call, (prompt, is_traced), told)
    return writer.pieces


def _gemini_tool(writer: _Writer, call: Planned, turn: tuple[str, bool], told: Callable[[str, Json], None]) -> None:
    prompt, is_traced = turn
    name, asked = (
        ("replace", {"file_path": call.path}) if call.path else ("run_shell_command", {"command": call.command})
    )
    if is_traced:
        outcome: Json = {
            "status": "error" if call.code else "success",
            "response": {"error": "no"} if call.code else {},
        }
        tool: Json = {
            "gen_ai.conversation.id": writer.made.ident, "gen_ai.agent.name": "gemini-cli", "gen_ai.operation.name": "tool_call",
            "gen_ai.tool.name": name, "gen_ai.tool.call_id": call.ident, "gen_ai.output.messages": json.dumps(outcome),
            "gen_ai.input.messages": json.dumps({"callId": call.ident, "name": name, "args": asked, "prompt_id": prompt}),
        }  # fmt: skip
        writer.span("tool_call", writer.ident(32), writer.ident(16), writer.ident(16), writer.now(), tool)
    told("tool_call", {"function_name": name, "function_args": json.dumps(asked), "success": not call.code})


DIALECTS: dict[str, Callable[[Plan, str], list[Piece]]] = {"genai": genai, "claude-code": claude, "gemini-cli": gemini}
