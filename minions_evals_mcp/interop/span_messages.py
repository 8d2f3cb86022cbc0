"""The messages that a model's span holds, in whatever attributes they are written, and the calls that are asked for in them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.step_fields import arguments_of
from minions_evals_mcp.domain.tagged_values import listed_values, obj, parsed
from minions_evals_mcp.domain.values import from_millis, iso
from minions_evals_mcp.interop.spans import Span

INPUT = ("gen_ai.input.messages", "input.value", "traceloop.entity.input")
OUTPUT = ("gen_ai.output.messages", "output.value", "traceloop.entity.output")
INPUT_FLAT = ("llm.input_messages", "gen_ai.prompt")
OUTPUT_FLAT = ("llm.output_messages", "gen_ai.completion")
"""The prefixes of messages that are written one attribute for each part, by OpenInference and by OpenLLMetry."""
ADK_REQUEST, ADK_RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
"""Where Google's ADK writes the whole request and answer of a model, as JSON."""
HIDDEN = "__REDACTED__"
"""What OpenInference writes in place of content that it is told to hide."""
_WHO = frozenset(("role", "name", "index", "finish_reason", "type", "id"))
_CALLING = frozenset(("tool_call", "tool_calls", "tool_use", "function_call"))
"""Finish reasons of a model that asks for a call, and types of the part that is one."""
_ANSWERING = frozenset(("tool_call_response", "tool_result", "function_call_output"))
_PLACE = (
    r"\.(\d+)\.(?:message\.)?(?:(role|content|tool_call_id)|contents?\.(\d+)(?:\.message_content\.text)?"
    r"|(?:tool_calls|contents)\.(\d+)\.(?:tool_call\.)?(?:function\.)?(id|name|arguments))"
)


def messages_in(span: Span) -> JsonValue:
    """What the span says it was given."""
    told = obj(span.value(ADK_REQUEST)).get("contents")
    return told or _messages(span, INPUT, INPUT_FLAT)


def messages_out(span: Span) -> JsonValue:
    """What the span says came of it."""
    told = obj(span.value(ADK_RESPONSE)).get("content")
    return [told] if told else _messages(span, OUTPUT, OUTPUT_FLAT)


def asks_for_call(model: Span) -> bool:
    """Whether what the model said last is a call, so that the agent goes on."""
    last = obj(next(reversed(listed_values(messages_out(model))), None))
    named = (
        last.get("finish_reason"), model.value("llm.finish_reason"), *listed_values(model.value("gen_ai.response.finish_reasons"))
    )  # fmt: skip
    is_told = any(reason in _CALLING for reason in named if isinstance(reason, str))
    return is_told or next(_calls_of(last), None) is not None


def asked_calls(models: Iterable[Span], *, known: Collection[str]) -> list[Json]:
    """The calls that the models asked for, as steps, each with the result that a later model was given.

    Without those of a tool that is `known`, for its own span says more.
    """
    steps: dict[str, Json] = {}
    spans = sorted(models, key=lambda span: (span.start, span.end))
    for span in spans:
        _answer(steps, span)
        for message in listed_values(messages_out(span)):
            for ident, tool, given in _calls_of(obj(message)):
                began: Json = {"startedAt": iso(from_millis(span.end // 1_000_000))} if span.end > 0 else {}
                step: Json = {"tool": tool, "id": ident, "arguments": arguments_of(parsed(given)), **began}
                steps.setdefault(ident or f"{span.id}.{len(steps)}", step)
    for span in spans:  # what one span holds of the whole conversation, the calls it asked for among it
        _answer(steps, span)
    return [step for step in steps.values() if step["tool"] not in known]


def _answer(steps: dict[str, Json], span: Span) -> None:
    """Give the calls that wait for a result those that the span was given; one without an id is that of the only one that waits."""
    for message in listed_values(messages_in(span)):
        for answered, result in _results_of(obj(message)):
            ident = answered or _only_waiting(steps)
            if ident in steps and result != HIDDEN:
                steps[ident].setdefault("result", result)


def _only_waiting(steps: Mapping[str, Json]) -> str:
    """The call that waits for its result, where just one does."""
    waiting = [key for key, step in steps.items() if "result" not in step]
    return waiting[0] if len(waiting) == 1 else ""


def _calls_of(message: Json) -> Iterator[tuple[str, str, JsonValue]]:
    """The id, the tool and the arguments of each call that the message asks for."""
    parts = listed_values(message.get("parts", message.get("content")))
    held = [obj(part) for part in parts if obj(part).get("type") in _CALLING]
    held += [call for part in parts if (call := obj(obj(part).get("function_call")))]
    for call in (*held, *map(obj, listed_values(message.get("tool_calls")))):
        function = obj(call.get("function")) or call
        name, ident = function.get("name"), call.get("id")
        if isinstance(name, str) and name:
            yield str(ident or ""), name, function.get("arguments", function.get("input", function.get("args")))


def _results_of(message: Json) -> Iterator[tuple[str, JsonValue]]:
    """The id of each call that the message answers, "" where it does not say which, and the answer."""
    parts = [obj(part) for part in listed_values(message.get("parts", message.get("content")))]
    answers = [part for part in parts if part.get("type") in _ANSWERING]
    for part in answers:
        ident = part.get("id", part.get("tool_use_id", part.get("call_id")))
        yield str(ident or ""), part.get("response", part.get("result", part.get("content", part.get("output"))))
    if not answers and message.get("role") == "tool":
        said = message.get("content", message.get("parts"))
        yield str(message.get("tool_call_id", message.get("id")) or ""), said


def _messages(span: Span, names: tuple[str, str, str], flat: tuple[str, str]) -> JsonValue:
    """What the span says, be it in one attribute or, as OpenInference and OpenLLMetry flatten it, in many.

    Nothing where the instrumentation was told to hide it: it then writes who spoke, or a mark, in its place.
    """
    exact, *whole = names
    messages = _shown(span.value(exact))
    if messages is not None:
        return messages
    flattened = next((found for prefix in flat if (found := _unflattened(span, prefix))), None)
    if flattened:
        return _shown([*flattened])
    return next((value for name in whole if (value := _shown(span.value(name))) is not None), None)


def _shown(messages: JsonValue) -> JsonValue:
    """The messages without those that hold no content; None where there is none."""
    if messages == HIDDEN:
        return None
    if not isinstance(messages, list):
        return messages
    held = [message for message in messages if not isinstance(message, dict) or _says_something(message)]
    return held or None


def _says_something(message: Json) -> bool:
    held = [value for key, value in message.items() if key not in _WHO]
    return any(value not in (None, HIDDEN, [], [{"type": "text", "text": HIDDEN}]) for value in held)


def _unflattened(span: Span, prefix: str) -> list[JsonValue]:
    """The messages that stand in one attribute for each part: their role, their content or the texts of its parts, their calls."""
    messages: dict[int, Json] = {}
    parts: dict[int, dict[int, JsonValue]] = {}
    calls: dict[int, dict[int, Json]] = {}
    place = re.compile(re.escape(prefix) + _PLACE)
    for name, value in span.attributes.items():
        match = place.fullmatch(name)
        if match is None:
            continue
        number = int(match[1])
        message = messages.setdefault(number, {})
        if match[2]:
            message[match[2]] = _content(value) if match[2] == "content" else value
        elif match[3]:
            parts.setdefault(number, {})[int(match[3])] = value
        else:
            calls.setdefault(number, {}).setdefault(int(match[4]), {})[match[5]] = value
    for number, several in parts.items():
        messages[number].setdefault("content", [{"type": "text", "text": several[part]} for part in sorted(several)])
    for number, asked in calls.items():
        messages[number]["tool_calls"] = [asked[call] for call in sorted(asked)]
    return [messages[number] for number in sorted(messages)]


def _content(value: JsonValue) -> JsonValue:
    """A message's content: its parts, where the text is their JSON, as OpenLLMetry writes several parts."""
    if not isinstance(value, str) or not value.startswith('[{"'):
        return value
    try:
        parts: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return value
    is_parts = isinstance(parts, list) and all(isinstance(part, dict) and "type" in part for part in parts)
    return parts if is_parts else value
