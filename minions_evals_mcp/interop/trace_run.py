"""One agent's span and the steps below it as an agent-run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import NO_FINAL_ANSWER, NOT_RECORDED
from minions_evals_mcp.domain.step_spans import span_steps
from minions_evals_mcp.domain.tagged_values import listed_values, obj, without_none
from minions_evals_mcp.domain.values import MAX_ID, from_millis, iso
from minions_evals_mcp.interop.span_messages import HIDDEN, asked_calls, asks_for_call, messages_in, messages_out
from minions_evals_mcp.interop.spans import ENVIRONMENT, Span
from minions_evals_mcp.sessions.conversation import finite

VERSION = "minions.prompt_version_ref"
"""The one attribute of ours: under which prompt version the agent ran."""
CONVERSATION = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "thread.id")
"""Attributes that name the conversation which several runs belong to."""
_AGENTS = frozenset(("assistant", "tool"))
_ANSWERING = frozenset(("assistant", "model", "ai"))
_SPEAKERS = _ANSWERING | {"user", "system"}
_RESULTS = frozenset(("tool_result", "tool_call_response", "function_call_output"))
_TOKENS = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
)
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
    calls = [*span_steps([_wire(span) for span in (root, *steps)])]
    calls += asked_calls(
        {span.id: span for span in (root, *models)}.values(), known={str(call.get("tool")) for call in calls}
    )
    once = _counted_once(root, steps, models)
    outputs = _outputs(root, once)
    is_recorded = bool(outputs or root.error)
    fields: Json = {
        "agentId": _agent(root),
        "promptVersionRef": next((ref for span in (root, *steps) if (ref := span.text(VERSION))), None),
        "triggeredAt": _moment(root.start),
        "completedAt": None if is_open else _moment(root.end),
        "inputs": _inputs([root, *models]),
        "outputs": {} if is_open else outputs,
        "toolCallsLog": [*calls],
        "tokensUsed": _tokens(root, once),
        "cost": _summed(root, once, "llm.cost.total"),
        "status": "failed" if root.error is not None else "running" if is_open else "success",
        "errorMessage": root.error,
        "stopReason": NO_FINAL_ANSWER if is_open else None if is_recorded else NOT_RECORDED,
        "group": next((talk for span in (root, *steps) if (talk := span.text(*CONVERSATION))), None),
        "extra": _models((root, *steps)),
    }
    run: Json = without_none(fields)
    tags: Json = {"tags": [*found]} if (found := _tags((root, *steps))) else {}
    return {"id": f"{trace_prefix(root.trace_id)}{_id(root.id)}", "type": "agent-run", **tags, "fields": finite(run)}


RESPONSE = "gen_ai.response.id"


def _counted_once(root: Span, steps: Sequence[Span], models: Sequence[Span]) -> list[Span]:
    """One span for each call of a model: a framework, a client and its instrumentation may each tell of one, nested or beside."""
    parents = {span.id: span.parent_id for span in (root, *steps)}
    known = {span.id for span in models if any(span.number(*names) is not None for names in _TOKENS)}

    def is_inner(span: Span) -> bool:
        above, seen = span.parent_id, set[str]()
        while above is not None and above not in seen and above not in known:
            seen.add(above)
            above = parents.get(above)
        return above in known

    outer = [span for span in models if not is_inner(span)]
    first = {span.text(RESPONSE) or span.id: span for span in reversed(outer)}.values()
    return sorted(_without_wrapped([*first]), key=lambda span: (span.end, span.start))


def _without_wrapped(spans: list[Span]) -> list[Span]:
    """Without those that lie within the time of one beside them, which names no response and tells of the same call."""
    named = [span for span in spans if span.text(RESPONSE)]
    wrapped: set[str] = set()
    for span in spans:
        twins = (one for one in named if not span.text(RESPONSE) and one.id not in wrapped and _wraps(span, one))
        wrapped |= {one.id for one in (next(twins, None),) if one is not None}  # each stands for one call
    return [span for span in spans if span.id not in wrapped]


def _wraps(outer: Span, inner: Span) -> bool:
    """Whether the one began before the other and ended after it, under the same parent and with the same tokens."""
    used = [[span.number(*names) for names in _TOKENS] for span in (outer, inner)]
    is_around = outer.start <= inner.start and inner.end <= outer.end and outer.parent_id == inner.parent_id
    return is_around and used[0] == used[1] and any(used[0])


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
    """What the agent was given: an object as it is, the conversation up to the question, else the first thing that its user said."""
    input_given = next((messages for span in spans if (messages := messages_in(span)) is not None), None)
    if isinstance(input_given, list):
        if all(str(obj(message).get("role")) in _AGENTS for message in input_given):
            return {}  # who asked was left out
        if talk := _conversation(input_given):
            return {"messages": [*talk]}
        return {"input": next((text for role, text in _spoken(input_given) if role == "user"), last_text(input_given))}
    return input_given if isinstance(input_given, dict) else {} if input_given is None else {"input": input_given}


def _conversation(messages: list[JsonValue]) -> list[Json]:
    """The words of a conversation that the agent was given, up to the last of its user's; none where no answer stands before them."""
    talk: list[Json] = []
    for message in messages:
        words = [text for _, text in _spoken([_without_results(obj(message))])]
        role = str(obj(message).get("role"))
        if words and role in _SPEAKERS:
            talk.append({"role": "assistant" if role in _ANSWERING else role, "content": words[0]})
    last = max((place for place, said in enumerate(talk) if said["role"] == "user"), default=-1)
    return talk[: last + 1] if any(said["role"] == "assistant" for said in talk[: max(last, 0)]) else []


def _without_results(message: Json) -> Json:
    """The message without results of tools, which some models are given in the name of their user."""
    name = "parts" if "parts" in message else "content"
    parts = message.get(name)
    if not isinstance(parts, list):
        return message
    return {**message, name: [part for part in parts if obj(part).get("type") not in _RESULTS]}


def _outputs(root: Span, models: list[Span]) -> Json:
    """The run's output: an object as it is, else the last text; empty where the spans hold only what came before it."""
    last = models[-1:]
    earlier = (span for span in reversed(models[:-1]) if not asks_for_call(span))
    output_given = next(
        (messages for span in (root, *last, *earlier) if (messages := messages_out(span)) is not None), None
    )
    if isinstance(output_given, list):
        return {"output": last_text(output_given)}
    return output_given if isinstance(output_given, dict) else {} if output_given is None else {"output": output_given}


def _spoken(messages: list[JsonValue]) -> Iterator[tuple[str, str]]:
    """Yields who said what: the text parts of each message."""
    for message in messages:
        role, content = obj(message).get("role"), obj(message).get("parts", obj(message).get("content"))
        parts = content if isinstance(content, list) else [content]
        texts = (part if isinstance(part, str) else obj(part).get("content", obj(part).get("text")) for part in parts)
        text = "\n".join(part for part in texts if isinstance(part, str) and part != HIDDEN)
        if text:
            yield str(role), text


def last_text(messages: list[JsonValue]) -> str:
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
    counts = [_summed(root, models, *either) for either in _TOKENS]
    return None if counts == [None, None] else int(sum(count or 0 for count in counts))


def _summed(root: Span, models: list[Span], *names: str) -> float | None:
    """The agent's own figure, which counts its steps in; else the sum of its model calls'."""
    own = root.number(*names)
    if own is not None:
        return own
    numbers = [number for span in models if (number := span.number(*names)) is not None]
    return sum(numbers) if numbers else None
