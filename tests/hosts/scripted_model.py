"""A model whose every turn is a script, over the wires of four providers: Anthropic, OpenAI Responses and Chat, Gemini."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, cast

import zstandard

Json = dict[str, Any]
Script = Generator[tuple[str, Json], str, None]
"""Yields a tool and its arguments, and is sent the text of the answer as the host handed it to its model."""
OURS = "minions"
"""Stands in the name under which a host offers each of our tools."""
WAIT = "WaitForMcpServers"
MOST_WAITS = 20
DONE = "Done."
_USAGE = {"input": 1200, "output": 80}


@dataclass
class ScriptedModel:
    """What the script asked for, what the model was handed, and the tools that it was offered first."""

    script: Script
    calls: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    answers: list[str] = field(default_factory=list[str])
    offered: list[Json] = field(default_factory=list[Json])
    error: BaseException | None = None
    requests: list[str] = field(default_factory=list[str])
    waits: int = 0
    _lock: Lock = field(default_factory=Lock)
    _ended: bool = False

    def next_turn(self, tools: list[Json], answer: str | None) -> tuple[str, Json] | str:
        """The next call, or the last words; `tools` are those that the host offers at this turn, by the names it gives them."""
        with self._lock:
            ours = [tool for tool in tools if OURS in str(tool["name"])]
            if not ours and not self.calls:
                return self._wait(tools)
            self.offered = self.offered or ours
            try:
                return self._called(tools, self._step(answer))
            except StopIteration:
                self._ended = True
                return DONE
            except (AssertionError, LookupError, TypeError) as error:
                self.error = self.error or error
                return f"The script failed: {error}"

    @property
    def ended(self) -> bool:
        """Whether the script came to its end."""
        return self._ended and self.error is None

    def _step(self, answer: str | None) -> tuple[str, Json]:
        if not self.calls:
            return next(self.script)
        assert answer is not None, f"{self.calls[-1][0]} was called, and the model saw no answer"
        self.answers.append(answer)
        return self.script.send(answer)

    def _called(self, tools: list[Json], step: tuple[str, Json]) -> tuple[str, Json]:
        tool, arguments = step
        self.calls.append(step)
        names = [str(one["name"]) for one in tools]
        found = [name for name in names if OURS in name and name.endswith(tool)]
        return (found[0] if found else tool, arguments)

    def _wait(self, tools: list[Json]) -> tuple[str, Json] | str:
        self.waits += 1
        if self.waits <= MOST_WAITS and any(tool["name"] == WAIT for tool in tools):
            return (WAIT, {})
        return "None of the tools is there."


@contextmanager
def serving(model: ScriptedModel) -> Generator[str]:
    """The address at which the model answers."""
    handler = type("Handler", (_Handler,), {"model": model})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: ScriptedModel

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it so
        del format, args

    def do_HEAD(self) -> None:
        self._send(b"", "application/json")

    def do_GET(self) -> None:
        self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_POST(self) -> None:
        asked = self._body()
        self.model.requests.append(self.path)
        wire = next((wire for part, wire in _WIRES.items() if part in self.path), None)
        if "ount" in self.path.rpartition("/")[2] or wire is None:  # count_tokens, countTokens, and what hosts report
            self._json({"input_tokens": 100, "totalTokens": 100})
            return
        events = wire(self.model, asked)
        if asked.get("stream") or "stream" in self.path:
            self._send(b"".join(_event(name, event) for name, event in events.stream), "text/event-stream")
        else:
            self._json(events.whole)

    def _body(self) -> Json:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            body = b""
            while size := int(self.rfile.readline().strip() or b"0", 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
        packed = self.headers.get("content-encoding", "")
        if packed == "gzip":
            body = gzip.decompress(body)
        elif packed == "zstd":
            body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
        try:
            found: object = json.loads(body)
        except ValueError:
            return {}
        return cast("Json", found) if isinstance(found, dict) else {}

    def _json(self, answer: Json) -> None:
        self._send(json.dumps(answer).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class _Reply:
    """One answer, whole and as the events of a stream, each with its name, empty where the wire has none."""

    whole: Json
    stream: list[tuple[str, Json]]


def _event(name: str, event: Json) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(event)}\r\n\r\n".encode()


def _texts(content: str | list[Json] | None) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def _anthropic(model: ScriptedModel, asked: Json) -> _Reply:
    tools, answer = asked.get("tools", []), None
    for message in reversed(asked["messages"]):
        if message["role"] == "assistant":
            break
        content: list[Json] = message["content"] if isinstance(message["content"], list) else []
        results = [block for block in content if block["type"] == "tool_result"]
        if results:
            answer = _texts(results[-1].get("content"))
            break
    turn = model.next_turn(tools, answer) if tools else "A title"
    block: Json = (
        {"type": "text", "text": turn}
        if isinstance(turn, str)
        else {"type": "tool_use", "id": f"toolu_{len(model.requests)}", "name": turn[0], "input": turn[1]}
    )
    stop = "end_turn" if isinstance(turn, str) else "tool_use"
    usage = {"input_tokens": _USAGE["input"], "output_tokens": _USAGE["output"]}
    whole: Json = {
        "id": f"msg_{len(model.requests)}", "type": "message", "role": "assistant", "model": asked.get("model"),
        "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    begun: Json = {**block, "text": ""} if isinstance(turn, str) else {**block, "input": {}}
    delta: Json = (
        {"type": "text_delta", "text": turn}
        if isinstance(turn, str)
        else {"type": "input_json_delta", "partial_json": json.dumps(turn[1])}
    )
    events: list[Json] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return _Reply(whole, [(str(event["type"]), event) for event in events])


def _responses(model: ScriptedModel, asked: Json) -> _Reply:
    tools: list[Json] = []
    spaces: dict[str, tuple[str, str]] = {}
    for tool in asked.get("tools", []):
        inside: list[Json] = tool["tools"] if tool.get("type") == "namespace" else []
        for inner in inside:
            name = f"{tool['name']}.{inner['name']}"
            tools.append({**inner, "name": name})
            spaces[name] = (tool["name"], inner["name"])
        if tool.get("type") != "namespace":
            tools.append({**tool, "name": tool.get("name") or tool["type"]})
    answer = None
    for item in reversed(asked.get("input", [])):
        if str(item.get("type")).endswith("_call_output"):
            answer = _texts(item["output"])
            break
        if item.get("role") == "user":
            break
    turn = model.next_turn(tools, answer) if tools else "A title"
    number = len(model.requests)
    item: Json
    if isinstance(turn, str):
        part: Json = {"type": "output_text", "text": turn, "annotations": []}
        item = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant", "content": [part]}
    else:
        name, arguments = turn
        space, bare = spaces.get(name, ("", name))
        item = {
            "type": "function_call", "id": f"fc_{number}", "status": "completed", "call_id": f"call_{number}", "name": bare,
            "arguments": json.dumps(arguments), **({"namespace": space} if space else {}),
        }  # fmt: skip
    usage = {
        "input_tokens": _USAGE["input"], "output_tokens": _USAGE["output"], "total_tokens": sum(_USAGE.values()),
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    whole: Json = {
        "id": f"resp_{number}", "object": "response", "created_at": 0, "status": "completed", "model": asked.get("model"),
        "output": [item], "usage": usage, "tools": [], "error": None, "incomplete_details": None,
    }  # fmt: skip
    begun: Json = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    return _Reply(whole, [(str(event["type"]), {**event, "sequence_number": at}) for at, event in enumerate(events)])


def _chat(model: ScriptedModel, asked: Json) -> _Reply:
    tools = [tool["function"] for tool in asked.get("tools", [])]
    last = asked["messages"][-1]
    answer = _texts(last.get("content")) if last["role"] == "tool" else None
    turn = model.next_turn(tools, answer) if tools else "A title"
    number = len(model.requests)
    message: Json = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
    if not isinstance(turn, str):
        called = {"name": turn[0], "arguments": json.dumps(turn[1])}
        message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": called}]
    stop = "stop" if isinstance(turn, str) else "tool_calls"
    usage = {
        "prompt_tokens": _USAGE["input"], "completion_tokens": _USAGE["output"], "total_tokens": sum(_USAGE.values()),
    }  # fmt: skip
    base: Json = {"id": f"chat_{number}", "created": 0, "model": asked.get("model")}
    whole = {
        **base,
        "object": "chat.completion",
        "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
    }
    part = {**base, "object": "chat.completion.chunk"}
    events: list[Json] = [
        {**part, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**part, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]},
        {**part, "choices": [], "usage": usage},
    ]
    return _Reply(whole, [("", event) for event in events])


def _gemini(model: ScriptedModel, asked: Json) -> _Reply:
    tools = [one for tool in asked.get("tools", []) for one in tool.get("functionDeclarations", [])]
    answer = None
    for content in reversed(asked.get("contents", [])):
        if content["role"] == "user":
            found = [part["functionResponse"]["response"] for part in content["parts"] if "functionResponse" in part]
            if found:
                output = found[-1].get("output")
                answer = output if isinstance(output, str) else json.dumps(found[-1])
            break
    settings = asked.get("generationConfig", {})
    schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
    turn = json.dumps(_filled(schema)) if schema else model.next_turn(tools, answer) if tools else "ok"
    part: Json = (
        {"text": turn}
        if isinstance(turn, str)
        else {
            "functionCall": {"name": turn[0], "args": turn[1], "id": f"fc{len(model.requests)}"},
            "thoughtSignature": "c2ln",
        }
    )
    whole: Json = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": _USAGE["input"], "candidatesTokenCount": _USAGE["output"], "totalTokenCount": sum(_USAGE.values()),
        },
        "modelVersion": "gemini-2.5-pro", "responseId": f"r{len(model.requests)}",
    }  # fmt: skip
    return _Reply(whole, [("", whole)])


def _filled(schema: Json) -> Json:
    """The least that fits the schema of what a host asks beside the task, such as how hard it is."""
    least: Json = {"string": "x", "boolean": True, "integer": 1, "number": 0.5, "array": [], "object": {}}
    return {
        name: (part.get("enum") or [least.get(str(part.get("type", "")).lower(), "x")])[0]
        for name, part in schema.get("properties", {}).items()
    }


_WIRES: dict[str, Callable[[ScriptedModel, Json], _Reply]] = {
    "/messages": _anthropic,
    "/responses": _responses,
    "/chat/completions": _chat,
    "enerateContent": _gemini,
}
