"""Logs of tool calls in the shapes of Anthropic, OpenAI, LangChain and OpenTelemetry, made into ours: the one place for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.step_fields import NAMES, OURS, named_step
from minions_evals_mcp.domain.step_spans import is_span, span_steps
from minions_evals_mcp.domain.tagged_values import listed_values, obj, parsed
from minions_evals_mcp.domain.values import Json

SHAPE = "{tool, arguments, result, error, durationMs, id, startedAt, parentId, agent, tokensUsed, extra}"
"""What a step of ours may hold; only `tool` must be there."""
REMEDY = f"a step is {SHAPE}, with at least a tool's name; calls as Anthropic, OpenAI, LangChain and OpenTelemetry write them are read too"
SPOKEN = frozenset({"human", "ai", "tool", "system", "message", "reasoning", "AIMessageChunk", "function", "developer"})
"""Types of what is said in LangChain's and OpenAI's conversations; beside these stand their calls."""
TEXTS = ("text", "output_text")
NO_CALLS = (*TEXTS, "thinking", "redacted_thinking")


def steps_of(log: object) -> object:
    """The log as a list of our steps; what is no list stays as it is.

    Keys that a step of ours does not know are kept in its `extra`. Raises `ValueError` naming the first step without a tool.
    """
    if not isinstance(log, list | tuple):
        return log
    given: list[object] = list(log)  # pyright: ignore[reportUnknownArgumentType]  whatever it holds is looked at below
    if all(_is_ours(step) for step in given):
        return given
    if any(is_span(step) for step in given):
        return list(span_steps(given))
    reading = _Reading()
    for place, step in enumerate(given, 1):
        if hasattr(step, "tool"):
            reading.steps.append(step)
        else:
            reading.take(cast("JsonValue", step), place)  # what is no JSON is refused there
    return reading.steps


def _is_ours(item: object) -> bool:
    if not isinstance(item, dict):
        return hasattr(item, "tool")  # a step already, as code hands it over
    tool: object = item.get("tool")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  looked at next
    return (
        isinstance(tool, str)
        and bool(tool.strip())
        and item.keys() <= OURS
        and isinstance(item.get("arguments", {}), dict)
    )  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  checked here


@dataclass(slots=True)
class _Reading:
    """A log while it is read: its steps in order, and those that have an id, for results come apart from their calls."""

    steps: list[object] = field(default_factory=list[object])
    by_id: dict[str, Json] = field(default_factory=dict[str, Json])

    def take(self, item: JsonValue, place: int) -> None:
        """Takes one item of a log: a call, a result, a message that holds some, or a step of ours."""
        match item:
            case str():
                self.call({"tool": item}, place)
            case [dict() as call, observed]:  # LangChain's intermediate step: the action and what was observed
                self.call({**call, "observation": observed}, place)
            case dict():
                self.object(_out_of_its_wrapping(item), place)
            case _:
                raise ValueError(f"step {place} is no object: {REMEDY}")

    def object(self, item: Json, place: int) -> None:
        """Takes an object: a result that names its call, what somebody says, or a call."""
        match item:
            case {"tool_use_id": ident}:
                self.answer(ident, _result(item), item, place)
            case {"type": "function_call_output", "call_id": ident}:
                self.answer(ident, parsed(item.get("output")), item, place)
            case {"role": "tool" | "function"} | {"type": "tool" | "function", "content": _}:
                self.tool_message(item)
            case {"role": _} | {"type": "message" | "reasoning"}:
                self.message(item, place)
            case {"type": str(kind), "content": _} if kind in SPOKEN:
                self.message(item, place)
            case _:
                self.call(item, place)

    def call(self, item: Json, place: int) -> None:
        """Keeps a call, under its id if it has one; an empty text of a message is none."""
        if item.get("type") in NO_CALLS:
            return
        step = named_step(_unwrapped(item))
        if step is None:
            raise ValueError(f"step {place} has no tool's name ({', '.join(NAMES)}): {REMEDY}")
        self.steps.append(step)
        if "id" in step:
            self.by_id[str(step["id"])] = step

    def message(self, item: Json, place: int) -> None:
        """The calls that a message makes, each by whoever says it, and the results that it hands over."""
        agent = item.get("name")
        for block in listed_values(item.get("content")):
            match block:
                case {"type": str(kind)} if kind.endswith("tool_use"):
                    self.call(_by(obj(block), agent), place)
                case {"tool_use_id": ident} if str(ident) in self.by_id:
                    self.answer(ident, _result(obj(block)), obj(block), place)
                case _:
                    continue
        for call in listed_values(item.get("tool_calls")):
            self.call(_by(obj(call), agent), place)

    def tool_message(self, item: Json) -> None:
        """Adds a tool's answer to its step; a message without its call is a step where it names its tool, else nobody's."""
        ident = item.get("tool_call_id")
        if str(ident) in self.by_id or isinstance(item.get("name"), str):
            self.answer(ident, _result(item), item, 0)

    def answer(self, ident: JsonValue, result: JsonValue, item: Json, place: int) -> None:
        """Puts a result, or an error, to its call."""
        step = self.by_id.get(str(ident))
        if step is None:
            self.call({"tool": item.get("name"), "id": ident}, place)
            step = obj(self.steps[-1])  # pyright: ignore[reportArgumentType]  the call just kept
        if item.get("is_error") is True or item.get("status") == "error":
            step["error"] = _text(item.get("content")) or "failed"
        else:
            step["result"] = result


def _out_of_its_wrapping(item: Json) -> Json:
    """LangChain's message without the object that says how it was written down."""
    match item:
        case {"lc": _, "kwargs": dict() as inner, "id": [*_, str(kind)]}:
            return {"type": kind.removesuffix("Message").lower(), **inner}
        case {"type": str(kind), "data": dict() as inner} if kind in SPOKEN:
            return {**inner, "type": kind}
        case _:
            return item


def _unwrapped(item: Json) -> Json:
    """OpenAI's call without the object around its name and arguments; its own tools are named by the type of their call."""
    match item:
        case {"function": dict() as inner, **outer}:
            return {**{key: value for key, value in outer.items() if key != "index"}, **inner}
        case {"type": str(kind)} if kind.endswith("_call") and not isinstance(item.get("name"), str):
            return {**item, "tool": kind.removesuffix("_call")}
        case _:
            return item


def _by(call: Json, agent: JsonValue) -> Json:
    return {**call, "agent": agent} if isinstance(agent, str) and agent else call


def _result(item: Json) -> JsonValue:
    """Returns what a result's content says: its text, or the JSON that this is; other blocks as they are."""
    content = item.get("content")
    blocks = listed_values(content)
    if blocks and not any(obj(block).get("type") in TEXTS for block in blocks):
        return content
    return parsed(_text(content))


def _text(content: JsonValue) -> str:
    return content if isinstance(content, str) else "\n".join(_texts(content))


def _texts(content: JsonValue) -> Iterator[str]:
    for block in listed_values(content):
        text = block if isinstance(block, str) else obj(block).get("text")
        if isinstance(text, str):
            yield text
