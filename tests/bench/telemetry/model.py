"""A model server that answers Q1 with A1, tells its tokens, and asks for a tool where it was given one."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


def number_of(asked: Json) -> int:
    """The number of the question."""
    return next(number for number in (2, 1, 0) if f"Q{number}?" in json.dumps(asked["messages"]))


def wants_tool(asked: Json) -> bool:
    """Whether a tool is offered that has not answered yet."""
    return bool(asked.get("tools")) and "found" not in json.dumps(asked["messages"])


def openai_reply(asked: Json) -> Json:
    """A chat completion."""
    number = number_of(asked)
    message: Json = {"role": "assistant", "content": f"A{number} ✓"}
    if wants_tool(asked):
        call = {"id": "call_2", "type": "function", "function": {"name": "find", "arguments": '{"id": 2}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    reason = "tool_calls" if wants_tool(asked) else "stop"
    used = {"prompt_tokens": 100 + number, "completion_tokens": 10 + number, "total_tokens": 110 + 2 * number}
    return {
        "id": f"chatcmpl-{number}-{reason}", "object": "chat.completion", "created": 1, "model": "gpt-4o-2024-08-06", "usage": used,
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
    }  # fmt: skip


def openai_events(asked: Json) -> Iterator[str]:
    """The same as a stream."""
    whole = openai_reply(asked)
    head = {**whole, "object": "chat.completion.chunk", "usage": None}
    text: str = whole["choices"][0]["message"]["content"]
    for delta, reason in (
        ({"role": "assistant", "content": text[:2]}, None),
        ({"content": text[2:]}, None),
        ({}, "stop"),
    ):
        yield json.dumps({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    yield json.dumps({**head, "choices": [], "usage": whole["usage"]})
    yield "[DONE]"


def anthropic_reply(asked: Json) -> Json:
    """A message."""
    number = number_of(asked)
    part: Json = {"type": "text", "text": f"A{number} ✓"}
    if wants_tool(asked):
        part = {"type": "tool_use", "id": "toolu_2", "name": "find", "input": {"id": 2}}
    return {
        "id": f"msg_{number}_{part['type']}", "type": "message", "role": "assistant", "content": [part],
        "model": "claude-sonnet-4-5-20250929",
        "stop_reason": "tool_use" if wants_tool(asked) else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 100 + number, "output_tokens": 10 + number},
    }  # fmt: skip


def anthropic_events(asked: Json) -> Iterator[str]:
    """The same as a stream."""
    whole = anthropic_reply(asked)
    text: str = whole["content"][0]["text"]
    begun: Json = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield json.dumps({"type": "message_start", "message": begun})
    yield json.dumps({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for piece in (text[:2], text[2:]):
        yield json.dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    yield json.dumps({"type": "content_block_stop", "index": 0})
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    yield json.dumps(
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    )
    yield json.dumps({"type": "message_stop"})


class Handler(BaseHTTPRequestHandler):
    """Answers both."""

    def do_POST(self) -> None:
        asked: Json = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_anthropic = self.path.endswith("/messages")
        if asked.get("stream"):
            events = anthropic_events(asked) if is_anthropic else openai_events(asked)
            said = "".join(f"{_named(event) if is_anthropic else ''}data: {event}\n\n" for event in events)
            self._send(said.encode(), "text/event-stream")
        else:
            self._send(
                json.dumps(anthropic_reply(asked) if is_anthropic else openai_reply(asked)).encode(), "application/json"
            )

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  as http.server has it
        """Says nothing."""


def _named(event: str) -> str:
    return f"event: {json.loads(event)['type']}\n"


@contextmanager
def model_server() -> Generator[str]:
    """The URL at which it answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
