"""A chat model at an OpenAI-compatible address that answers what its prompt tells it to: for runs beside other tools.

A system that holds `SCRIPT: a | b | c` is played: the line after as many as were said. Else, by the last message:
SAY words · CALL tool {arguments} · BOTH tool {arguments} (with words) · FUNCTION name {arguments} · GRADE output by rubric.
At `/spans` it is an application that is traced: it sends the `spans` that it is given to the collector at `to`, and answers `say`.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

Json = dict[str, Any]


def message_for(text: str) -> Json:
    """The message that the model answers with."""
    verb, _, rest = text.partition(" ")
    name, _, arguments = rest.partition(" ")
    call: Json = {"name": name, "arguments": arguments}
    tool_calls = [{"id": "call_1", "type": "function", "function": call}]
    match verb:
        case "SAY":
            return {"role": "assistant", "content": rest, "refusal": None}
        case "CALL":
            return {"role": "assistant", "content": None, "refusal": None, "tool_calls": tool_calls}
        case "BOTH":
            return {"role": "assistant", "content": "I look it up.", "refusal": None, "tool_calls": tool_calls}
        case "FUNCTION":
            return {"role": "assistant", "content": None, "refusal": None, "function_call": call}
        case "GRADE":
            good = name == "good"
            said = {"reason": f"it is {name}", "pass": good, "score": 0.75 if good else 0.25}
            return {"role": "assistant", "content": json.dumps(said), "refusal": None}
        case _:
            return {"role": "assistant", "content": f"I was told nothing: {text}", "refusal": None}


def line_of(script: str, said: int) -> str:
    """The line of `SCRIPT: a | b` that comes after so many."""
    lines = [line.strip() for line in script.partition("SCRIPT:")[2].split("|")]
    return lines[min(said, len(lines) - 1)]


def _by(messages: list[Json], role: str) -> int:
    return sum(message["role"] == role for message in messages)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked: Json = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "/spans" in self.path:
            self._trace(asked)
            self._send({"said": asked["say"]})
            return
        if asked.get("task") == "tau":  # promptfoo's service that plays users
            self._send({"result": line_of(asked["instructions"], _by(asked["history"], "assistant"))})
            return
        messages = asked["messages"]
        if "SCRIPT:" in str(messages[0]["content"]):
            line = line_of(str(messages[0]["content"]), _by(messages, "assistant"))
            message: Json = {"role": "assistant", "content": line, "refusal": None}
        else:
            message = message_for(str(messages[-1]["content"]))
        called = "tool_calls" in message or "function_call" in message
        answer = {
            "id": "chat-1", "object": "chat.completion", "created": 0, "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if called else "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
        }  # fmt: skip
        self._send(answer)

    def _trace(self, asked: Json) -> None:
        """Sends the spans under the trace that the request belongs to."""
        _, trace_id, parent_id, _ = self.headers["traceparent"].split("-")
        ids = {"traceId": trace_id, "parentSpanId": parent_id}
        spans = [{**span, **ids, "spanId": f"{number:016x}"} for number, span in enumerate(asked["spans"], 1)]
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "app"}, "spans": spans}]}]})
        headers = {"content-type": "application/json"}
        urlopen(Request(f"{asked['to']}/v1/traces", body.encode(), headers)).close()

    def _send(self, answer: Json) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it so
        del format, args


@contextmanager
def scripted_model() -> Generator[str]:
    """The address of a running model, on the loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
