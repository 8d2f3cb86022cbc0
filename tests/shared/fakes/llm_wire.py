"""What the fake model server writes on the wire: HTTP responses, each provider's bodies and errors."""

from __future__ import annotations

import json
import re
import zlib
from typing import cast

from pydantic import JsonValue

from tests.shared.fakes.llm_answers import Answer, Object, obj, text_of

REASONS = {200: b"OK", 429: b"Too Many Requests", 529: b"Overloaded"}
ERRORS = {
    "p400": (400, "invalid_request_error", "the request is wrong"),
    "p401": (401, "authentication_error", "invalid x-api-key"),
    "p404": (404, "not_found_error", "no such model"),
    "p429": (429, "rate_limit_error", "slow down"),
    "pquota": (429, "insufficient_quota", "you exceeded your current quota"),
    "p500": (500, "api_error", "internal error"),
    "p529": (529, "overloaded_error", "overloaded"),
}


def dumps(value: JsonValue) -> str:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":"))


def framed(status: int, body: bytes, extra: bytes = b"", kind: bytes = b"application/json") -> bytes:
    """An HTTP/1.1 response."""
    head = b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n%s\r\n"
    return head % (status, REASONS.get(status, b"X"), kind, len(body), extra) + body


def http(status: int, value: JsonValue, extra: bytes = b"") -> bytes:
    """An HTTP/1.1 response with a JSON body."""
    return framed(status, dumps(value).encode(), extra)


def error_body(kind: str, message: str) -> Object:
    """An error in a form that both SDKs read."""
    return {"type": "error", "error": {"type": kind, "code": kind, "message": message}}


def anthropic_body(model: str, said: Answer, fault: str) -> Object:
    """A message as the Messages API sends it."""
    stop: JsonValue = {"prefusal": "refusal", "pmaxtokens": "max_tokens", "pnostop": None}.get(fault, "end_turn")
    text = "" if fault in ("prefusal", "pnothing") else said.text
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": None if fault == "pnocontent" else [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "explanation": "I cannot help with that."} if fault == "prefusal" else None,
        "usage": {
            "input_tokens": said.prompt_length // 4 + 8,
            "output_tokens": 0 if fault == "pnothing" else len(text) // 4 + 4,
        },
    }


def embeddings_body(request: Object) -> Object:
    """Vectors as OpenAI sends them: how often each word of the text falls into one of sixteen places."""
    rows: list[JsonValue] = []
    for index, text in enumerate(cast("list[str]", request["input"])):
        vector: list[JsonValue] = [0.0] * 16
        for word in text.lower().split():
            place = zlib.crc32(word.encode()) % 16
            vector[place] = cast("float", vector[place]) + 1.0
        rows.append({"object": "embedding", "index": index, "embedding": vector})
    used = sum(len(text) for text in cast("list[str]", request["input"])) // 4 + 1
    usage: Object = {"prompt_tokens": used, "total_tokens": used}
    return {"object": "list", "data": rows[::-1], "model": request["model"], "usage": usage}


def openai_body(model: str, said: Answer, fault: str) -> Object:
    """A chat completion as OpenAI sends it."""
    finish: JsonValue = {"pmaxtokens": "length", "pnostop": None}.get(fault, "stop")
    read, written = said.prompt_length // 4 + 8, 0 if fault == "pnothing" else len(said.text) // 4 + 4
    message: Object = {
        "role": "assistant",
        "content": None if fault in ("pnocontent", "prefusal") else "" if fault == "pnothing" else said.text,
        "refusal": "I cannot help with that." if fault == "prefusal" else None,
    }
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


def with_tool_call(whole: Object, request: Object) -> Object:
    """The reply as a call of the request's first tool, asked with the user's words, while no result of a call is in it.

    A prompt that says "no tools" is answered at once, one that says "always tools" is never answered in words.
    """
    tools, messages = request.get("tools"), request.get("messages")
    turns = [obj(turn) for turn in messages] if isinstance(messages, list) else []
    asked = text_of(turns[-1].get("content")) if turns else ""
    if turns and "always tools" in text_of(turns[0].get("content")):
        asked = text_of(turns[0].get("content"))
    elif turns and turns[-1].get("role") != "user":
        return whole
    if not isinstance(tools, list) or not tools or not asked or "no tools" in asked:
        return whole
    tool = obj(tools[0])
    if "choices" not in whole:
        block: Object = {"type": "tool_use", "id": "toolu_fake", "name": tool["name"], "input": {"query": asked}}
        return {**whole, "content": [block], "stop_reason": "tool_use"}
    arguments = {"name": obj(tool["function"])["name"], "arguments": dumps({"query": asked})}
    call: Object = {"id": "call_fake", "type": "function", "function": arguments}
    message: Object = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [call]}
    choice: Object = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    return {**whole, "choices": [choice]}


def anthropic_events(whole: Object, fault: str) -> list[bytes]:
    """The same message as the Messages API streams it."""
    usage = obj(whole["usage"])
    opening: Object = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    found = [event({"type": "message_start", "message": opening}), event({"type": "ping"})]
    blocks = whole["content"]
    for index, block in enumerate(blocks if isinstance(blocks, list) else []):
        empty: Object = {"type": "text", "text": ""}
        found.append(event({"type": "content_block_start", "index": index, "content_block": empty}))
        for piece in pieces(str(obj(block)["text"])):
            delta: Object = {"type": "text_delta", "text": piece}
            found.append(event({"type": "content_block_delta", "index": index, "delta": delta}))
        found.append(event({"type": "content_block_stop", "index": index}))
    ending: Object = {name: whole[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    last: Object = {"output_tokens": usage["output_tokens"]}
    found.extend((event({"type": "message_delta", "delta": ending, "usage": last}), event({"type": "message_stop"})))
    return spoilt_events(found, fault)


def openai_events(whole: Object, fault: str) -> list[bytes]:
    """The same chat completion as OpenAI streams it, with the usage that `include_usage` asks for."""
    choices = whole["choices"]
    choice = obj(choices[0]) if isinstance(choices, list) else {}
    message = obj(choice["message"])
    deltas: list[Object] = [{"role": "assistant"}]
    for name in ("content", "refusal"):
        said = message[name]
        deltas.extend({name: piece} for piece in (pieces(said) if isinstance(said, str) else ()))
    found = [piece_of(whole, [{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    found.append(piece_of(whole, [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]))
    found.extend((piece_of(whole, [], usage=whole["usage"]), b"data: [DONE]\n\n"))
    return spoilt_events(found, fault)


def piece_of(whole: Object, choices: list[JsonValue], usage: JsonValue = None) -> bytes:
    """One piece of a chat completion."""
    head: Object = {name: whole[name] for name in ("id", "created", "model")}
    return event({**head, "object": "chat.completion.chunk", "choices": choices, "usage": usage}, named=False)


def pieces(text: str) -> list[str]:
    """The text word by word."""
    return re.findall(r"\S+\s*|\s+", text) or [text]


def event(data: Object, *, named: bool = True) -> bytes:
    """One server-sent event."""
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {dumps(data)}\n\n".encode()


def spoilt_events(events: list[bytes], fault: str) -> list[bytes]:
    """The events as they come under that fault: cut short, with an error or with broken JSON in their midst."""
    half = len(events) // 2
    match fault:
        case "pearly":
            return events[:half]
        case "pmalformed":
            return [*events[:half], b'data: {"type": "content_block_delta", "del\n\n', *events[half:]]
        case "pmidway":
            return [*events[:half], event(error_body("overloaded_error", "overloaded"))]
        case _:
            return events
