"""What the fake model server writes on the wire: HTTP responses, each provider's bodies and errors."""

from __future__ import annotations

import json

from pydantic import JsonValue

from tests.fakes.llm_answers import Answer, Object

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


def framed(status: int, body: bytes, extra: bytes = b"") -> bytes:
    """An HTTP/1.1 response."""
    head = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%s\r\n"
    return head % (status, REASONS.get(status, b"X"), len(body), extra) + body


def http(status: int, value: JsonValue, extra: bytes = b"") -> bytes:
    """An HTTP/1.1 response with a JSON body."""
    return framed(status, dumps(value).encode(), extra)


def error_body(kind: str, message: str) -> Object:
    """An error in a form that both SDKs read."""
    return {"type": "error", "error": {"type": kind, "code": kind, "message": message}}


def anthropic_body(model: str, said: Answer, fault: str) -> Object:
    """A message as the Messages API sends it."""
    stop: JsonValue = {"prefusal": "refusal", "pmaxtokens": "max_tokens", "pnostop": None}.get(fault, "end_turn")
    text = "" if fault == "prefusal" else said.text
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": None if fault == "pnocontent" else [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "explanation": "I cannot help with that."} if fault == "prefusal" else None,
        "usage": {"input_tokens": said.prompt_length // 4 + 8, "output_tokens": len(text) // 4 + 4},
    }


def openai_body(model: str, said: Answer, fault: str) -> Object:
    """A chat completion as OpenAI sends it."""
    finish: JsonValue = {"pmaxtokens": "length", "pnostop": None}.get(fault, "stop")
    read, written = said.prompt_length // 4 + 8, len(said.text) // 4 + 4
    message: Object = {
        "role": "assistant",
        "content": None if fault in ("pnocontent", "prefusal") else said.text,
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
