"""One agent's span and the steps below it as an agent-run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.step_spans import span_steps
from minions_evals_mcp.domain.tagged_values import listed_values, obj, without_none
from minions_evals_mcp.domain.values import MAX_ID, from_millis, iso
from minions_evals_mcp.interop.spans import ENVIRONMENT, Span
from minions_evals_mcp.sessions.conversation import finite
from minions_evals_mcp.sessions.unfinished import NO_FINAL_ANSWER

VERSION = "minions.prompt_version_ref"
"""The one attribute of ours: under which prompt version the agent ran."""
CONVERSATION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "thread.id")
"""Attributes that name the conversation which several runs belong to."""
INPUT = ("gen_ai.input.messages", "input.value", "traceloop.entity.input")
OUTPUT = ("gen_ai.output.messages", "output.value", "traceloop.entity.output")
INPUT_FLAT = ("llm.input_messages", "gen_ai.prompt")
OUTPUT_FLAT = ("llm.output_messages", "gen_ai.completion")
"""The prefixes of messages that are written one attribute for each part, by OpenInference and by OpenLLMetry."""

_CALLING = frozenset(("tool_call", "tool_calls", "tool_use", "function_call"))
"""Finish reasons of a model that asks for a call."""
MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
TAGS = ("tag.tags", "langfuse.trace.tags", "langsmith.span.tags", "tags")
"""Attributes that hold the tags of a trace: a list of texts, or texts with commas between them."""

Kind = Callable[[Span], str | None]


def agent_run(root: Span, steps: list[Span], kind: Kind, *, is_over: bool = True) -> Json:
    """The record on the wire; its id is made of the span's, so that the same span is the same record.

    `is_over`: whether the agent's work has ended, as far as its spans say; without it there is no output.
    """
    models = [span for span in (root, *steps) if kind(span) == "model"]
    is_open = root.error is None and not is_over
    fields: Json = {
        "agentId": _agent(root),
        "promptVersionRef": next((ref for span in (root, *steps) if (ref := span.text(VERSION))), None),
        "triggeredAt": _moment(root.start),
        "completedAt": None if is_open else _moment(root.end),
        "inputs": _inputs([root, *models]),
        "outputs": {} if is_open else _outputs([root, *reversed(models)]),
        "toolCallsLog": [*span_steps([_wire(span) for span in (root, *steps)])],
        "tokensUsed": _tokens(root, models),
        "cost": _summed(root, models, "llm.cost.total"),
        "status": "failed" if root.error is not None else "running" if is_open else "success",
        "errorMessage": root.error,
        "stopReason": NO_FINAL_ANSWER if is_open else None,
        "group": next((talk for span in (root, *steps) if (talk := span.text(*CONVERSATION))), None),
        "extra": _models((root, *steps)),
    }
    run: Json = without_none(fields)
    tags: Json = {"tags": [*found]} if (found := _tags((root, *steps))) else {}
    return {"id": f"{trace_prefix(root.trace_id)}{_id(root.id)}", "type": "agent-run", **tags, "fields": finite(run)}


def _models(spans: Sequence[Span]) -> Json | None:
    """The models that were asked, by the names that they answered under."""
    models = sorted({model.strip() for span in spans if (model := span.text(*MODELS))})
    return {"models": [*models]} if models else None


def _tags(spans: Sequence[Span]) -> list[str]:
    """The tags of the trace, and the environment that it ran in."""
    held = [span.value(name) for span in spans for name in TAGS if name in span.attributes]
    texts = [part for value in held for part in (value.split(",") if isinstance(value, str) else listed_values(value))]
    named = [environment for span in spans if (environment := span.text(*ENVIRONMENT))]
    tags = [text.strip()[:MAX_ID] for text in (*texts, *named) if isinstance(text, str) and text.strip()]
    return [*dict.fromkeys(tags)]


def asks_for_call(model: Span) -> bool:
    """Whether what the model said last is a call, so that the agent goes on."""
    given = _messages(model, OUTPUT, OUTPUT_FLAT)
    last = obj(given[-1]) if isinstance(given, list) and given else {}
    parts = [obj(part) for part in listed_values(last.get("parts", last.get("content")))]
    named = (last.get("finish_reason"), *listed_values(model.value("gen_ai.response.finish_reasons")))
    is_call = any(part.get("type") in ("tool_call", "tool_use") for part in parts) or bool(last.get("tool_calls"))
    return is_call or any(reason in _CALLING for reason in named if isinstance(reason, str))


def trace_prefix(trace_id: str) -> str:
    """How the ids of the trace's agent-runs begin."""
    return f"otel:{_id(trace_id)}/"


def _agent(root: Span) -> str:
    named = (
        root.text("gen_ai.agent.id", "gen_ai.agent.name", "agent.name", "graph.node.id") or root.service or root.name
    )
    return _id(named)


def _id(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._:/@-]+", "-", text.strip())[: MAX_ID // 2] or "agent"


def _moment(nanos: int) -> str | None:
    return iso(from_millis(nanos // 1_000_000)) if nanos > 0 else None


def _inputs(spans: list[Span]) -> Json:
    """Returns what the agent was given: an object as it is, else the first thing that its user said."""
    input_given = next(
        (messages for span in spans if (messages := _messages(span, INPUT, INPUT_FLAT)) is not None), None
    )
    if isinstance(input_given, list):
        return {"input": next((text for role, text in _spoken(input_given) if role == "user"), _last(input_given))}
    return input_given if isinstance(input_given, dict) else {} if input_given is None else {"input": input_given}


def _outputs(spans: list[Span]) -> Json:
    """Returns what came of it: an object as it is, else the last thing that was said."""
    output_given = next(
        (messages for span in spans if (messages := _messages(span, OUTPUT, OUTPUT_FLAT)) is not None), None
    )
    if isinstance(output_given, list):
        return {"output": _last(output_given)}
    return output_given if isinstance(output_given, dict) else {} if output_given is None else {"output": output_given}


def _messages(span: Span, names: tuple[str, str, str], flat: tuple[str, str]) -> JsonValue:
    """What the span says, be it in one attribute or, as OpenInference and OpenLLMetry flatten it, in many."""
    exact, *whole = names
    messages = span.value(exact)
    if messages is not None:
        return messages
    flattened = next((found for prefix in flat if (found := _unflattened(span, prefix))), None)
    return flattened or next((value for name in whole if (value := span.value(name)) is not None), None)


def _unflattened(span: Span, prefix: str) -> list[JsonValue]:
    """The messages that stand in one attribute for each part: their role, their content or the texts of its parts."""
    messages: dict[int, Json] = {}
    parts: dict[int, dict[int, JsonValue]] = {}
    place = re.compile(
        rf"{re.escape(prefix)}\.(\d+)\.(?:message\.)?(?:(role|content)|contents\.(\d+)\.message_content\.text)"
    )
    for name, value in span.attributes.items():
        match = place.fullmatch(name)
        if match is None:
            continue
        number = int(match[1])
        message = messages.setdefault(number, {})
        if match[2]:
            message[match[2]] = _content(value) if match[2] == "content" else value
        else:
            parts.setdefault(number, {})[int(match[3])] = value
    for number, several in parts.items():
        messages[number].setdefault("content", [{"type": "text", "text": several[part]} for part in sorted(several)])
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


def _spoken(messages: list[JsonValue]) -> Iterator[tuple[str, str]]:
    """Yields who said what: the text parts of each message."""
    for message in messages:
        role, content = obj(message).get("role"), obj(message).get("parts", obj(message).get("content"))
        parts = content if isinstance(content, list) else [content]
        texts = (part if isinstance(part, str) else obj(part).get("content", obj(part).get("text")) for part in parts)
        text = "\n".join(part for part in texts if isinstance(part, str))
        if text:
            yield str(role), text


def _last(messages: list[JsonValue]) -> str:
    """The last text; where none was said, the messages as they are."""
    return next((text for _, text in reversed(list(_spoken(messages)))), json.dumps(messages, ensure_ascii=False))


def _wire(span: Span) -> Json:
    """The span as the one place that reads steps out of spans expects it."""
    return {
        "spanId": span.id, "parentSpanId": span.parent_id, "name": span.name, "attributes": span.attributes,
        "startTimeUnixNano": span.start, "endTimeUnixNano": span.end,
        "status": {} if span.error is None else {"code": 2, "message": span.error},
    }  # fmt: skip


def _tokens(root: Span, models: list[Span]) -> int | None:
    names = (
        ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    )
    counts = [_summed(root, models, *either) for either in names]
    return None if counts == [None, None] else int(sum(count or 0 for count in counts))


def _summed(root: Span, models: list[Span], *names: str) -> float | None:
    """The agent's own figure, which counts its steps in; else the sum of its model calls'."""
    own = root.number(*names)
    if own is not None:
        return own
    numbers = [number for span in models if (number := span.number(*names)) is not None]
    return sum(numbers) if numbers else None
