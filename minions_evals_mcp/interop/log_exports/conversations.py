"""The messages and calls in the course of an output, as messages of one shape, whatever it was kept as."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.tagged_values import listed_values, obj, parsed, without_none
from minions_evals_mcp.interop.log_exports.exported_outputs import ExportedOutput
from minions_evals_mcp.sessions.conversation import objects, without

CALLS = ("tool", "function")
"""Who gives a call's result."""


def conversation(output: ExportedOutput) -> list[Json]:
    """The messages as they were kept; calls that stand elsewhere come before the last answer.

    A call is `{id, name, arguments}` under `tool_calls`, its result a message of the role `tool`.
    """
    messages = [_message(obj(message)) for message in output.messages]
    if output.steps and not any(_tells_calls(message) for message in messages):
        before, after = (
            (messages[:-1], messages[-1:]) if messages and messages[-1].get("role") == "assistant" else (messages, [])
        )
        return [*(before or _question(output)), *_called(output.steps), *(after or _answer(output))]
    if messages:
        return messages
    return [] if output.output is None else [*_question(output), *_answer(output)]


def question(inputs: Json) -> JsonValue:
    """Returns what was asked: a conversation, or a text."""
    messages, input_given = inputs.get("messages"), inputs.get("input")
    return (
        messages if isinstance(messages, list) else input_given if isinstance(input_given, str) else value_text(inputs)
    )


def _question(output: ExportedOutput) -> list[Json]:
    question_asked = question(output.inputs)
    if isinstance(question_asked, list):
        return [_message(message) for message in objects(question_asked)]
    return [{"role": "user", "content": question_asked}]


def _answer(output: ExportedOutput) -> list[Json]:
    return [] if output.output is None else [{"role": "assistant", "content": value_text(output.output)}]


def _message(message: Json) -> Json:
    """The message; its calls in one shape, be they written flat or, as OpenAI's, within a `function`."""
    calls = [_call(call, place) for place, call in enumerate(objects(message.get("tool_calls")))]
    if not calls:
        return without(message, "tool_calls")
    return {**message, "content": message.get("content") or "", "tool_calls": [*calls]}


def _call(call: Json, place: int) -> Json:
    inside = obj(call.get("function"))
    name = call.get("name") or inside.get("name") or call.get("function") or "tool"
    arguments = parsed(call.get("arguments", inside.get("arguments", call.get("args"))))
    held: JsonValue = (
        arguments if isinstance(arguments, dict) else {} if arguments is None else {"arguments": arguments}
    )
    rest = without(call, "name", "arguments", "args", *(["function"] if inside else []))
    return {"id": f"call-{place}", **rest, "name": str(name), "arguments": held}


def _tells_calls(message: Json) -> bool:
    parts = (obj(part).get("type") for part in listed_values(message.get("content")))
    return bool(message.get("tool_calls")) or message.get("role") in CALLS or "tool_use" in parts


def _called(steps: tuple[JsonValue, ...]) -> Iterator[Json]:
    """Each call as the agent makes it, and what it gave."""
    for place, step in enumerate(objects([*steps])):
        ident, name = str(step.get("id") or f"call-{place}"), str(step.get("tool") or "tool")
        call: Json = {"id": ident, "name": name, "arguments": obj(step.get("arguments"))}
        yield {"role": "assistant", "content": "", "tool_calls": [call]}
        error, result = step.get("error"), step.get("result")
        result_given = error if result is None else result
        yield without_none({
            "role": "tool", "tool_call_id": ident, "name": name, "content": "" if result_given is None else value_text(result_given),
            "is_error": True if error is not None else None,
        })  # fmt: skip
