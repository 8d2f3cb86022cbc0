"""What a format's files say that an import does not take: shown by `import --explain`, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json

_EVENTS = "events are counted under extra.leftOut"
_ROLE = "an answer is the assistant's"
_BELOW = "below a trace's root tool calls are kept, other spans are counted"
_LINKS = "it links records; what it links is kept together"
_BOOKS = "bookkeeping of the tool"
_REPEATED = "the session's file says it twice"
NOT_TAKEN: Mapping[str, Mapping[str, str]] = {
    "inspect-eval": {"output/choices/*/message/role": _ROLE, "events": _EVENTS},
    "inspect-json": {"samples/*/output/choices/*/message/role": _ROLE, "samples/*/events": _EVENTS},
    "openai-evals": {"run_id": _LINKS, "event_id": _BOOKS, "created_by": _BOOKS},
    "otel": {
        "parentSpanId": _LINKS,
        "name": "the root is known by its id and attributes; " + _BELOW,
    },
    "mlflow": {"data/spans/*/parent_span_id": _LINKS},
    "langsmith": {"trace_id": _LINKS},
    "opik-trace": {"trace/input/messages/*/role": "one message alone is the question"},
    "braintrust": dict.fromkeys(("span_id", "root_span_id"), _LINKS),
    "every-eval-ever": {"schema_version": _BOOKS},
    "lm-eval": dict.fromkeys(("doc_hash", "prompt_hash", "target_hash"), "a digest of what is taken"),
    "otel-logs": {"service.name": _BOOKS, "plugin.name": "a plugin is known by what it did"},
    "claude-code": {
        "operation": _BOOKS,
        "uuid": _LINKS,
        "message/id": _LINKS,
        "message/role": "the line's type says it",
        "message/content/*/thinking": "hidden reasoning is not saved",
    },
    "codex": {"ordinal": _BOOKS},
    "gemini-cli": {
        "projectHash": _BOOKS,
        "startTime": _BOOKS,
        "kind": _BOOKS,
        "id": _LINKS,
        "$set": _REPEATED,
        "toolCalls/*/status": "error and cancelled are taken, others mean that it came",
        "toolCalls/*/result/*/functionResponse/id": _LINKS,
        "toolCalls/*/resultDisplay": "the result is taken, not how it was shown",
        "content/*/functionResponse": _REPEATED,
    },
    "opencode": {
        "messages/*/info/providerID": "the model is taken",
        "messages/*/parts/*/state/status": "error is taken, others mean that it came",
        "messages/*/parts/*/reason": "the last message's reason is taken",
    },
}
"""By format, the fields that are read by nobody, and why. A test changes every field of a file and finds it again, or here."""


def repeated(held: Json, said: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The names under which the object only says again what is taken from elsewhere."""
    return tuple(name for name, value in said.items() if held.get(name) == value)


def summed(usage: Json, total: str, *parts: str) -> tuple[str, ...]:
    """The names of token counts that are taken; the total among them where it is the sum of the others."""
    numbers = [number for part in parts if isinstance(number := usage.get(part), int)]
    return (*parts, total) if usage.get(total) == sum(numbers) else parts
