"""A log of tool calls that the checks of a case ask for, as far as they say which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.audit.samples import text_found_by

LOG_KEYS = ("toolCallsLog", "toolCalls", "tool_calls", "expectedTrajectory", "trajectory", "expectedToolCalls")
"""Keys of an expected output under which a log may stand."""
_NAMES, _ARGUMENTS = ("tool", "name", "toolName", "function"), ("arguments", "args", "input", "parameters")


def log_in(record: Json) -> tuple[ToolCall, ...] | None:
    """The log that stands in an expected output; None where none does."""
    for key in LOG_KEYS:
        held = record.get(key)
        if isinstance(held, list):
            calls = [_written(call) for call in held]
            if calls and all(call is not None for call in calls):
                return tuple(call for call in calls if call is not None)
    return None


def _written(step: JsonValue) -> ToolCall | None:
    if isinstance(step, str):
        return ToolCall(tool=step) if step else None
    if not isinstance(step, dict):
        return None
    name = next((step[key] for key in _NAMES if isinstance(step.get(key), str)), None)
    arguments = next((step[key] for key in _ARGUMENTS if isinstance(step.get(key), dict)), None)
    try:
        return ToolCall.model_validate({"tool": name, "arguments": arguments or {}, "result": step.get("result")})
    except ValidationError:
        return None


def log_asked_for(assertions: Iterable[Assertion]) -> tuple[ToolCall, ...] | None:
    """The log that checks of the log describe, the most telling of them first; None where none does."""
    positive = [assertion for assertion in assertions if not assertion.negated and assertion.weight > 0]
    calls: list[ToolCall] = []
    for kind in ("trajectory:match", "trajectory:tool-sequence", "trajectory:tool-args-match", "trajectory:tool-used",
                 "tool-call-f1"):  # fmt: skip
        for assertion in positive:
            if assertion.type == kind:
                calls = _joined(calls, list(_described(assertion)))
    return tuple(calls) or None


def _joined(calls: list[ToolCall], more: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls with those that they lack; one that was named only takes the arguments that another check gives."""
    for call in more:
        same = next((number for number, earlier in enumerate(calls) if earlier.tool == call.tool), None)
        if same is None:
            calls = [*calls, call]
        elif call.arguments and not calls[same].arguments:
            calls = [*calls[:same], call, *calls[same + 1 :]]
    return calls


def _described(assertion: Assertion) -> Iterator[ToolCall]:
    value = assertion.value
    match assertion.type:
        case "trajectory:match" | "trajectory:tool-sequence":
            steps = value.get("steps", []) if isinstance(value, dict) else value
            for step in steps if isinstance(steps, list) else []:
                yield from _steps(step)
        case "trajectory:tool-args-match":
            if isinstance(value, dict):
                held = value.get("args", value.get("arguments", {}))
                yield from _steps({"name": value.get("name", value.get("pattern", "tool")), "args": held})
        case "trajectory:tool-used":
            if isinstance(value, dict):
                least = value.get("min", 1)
                yield from list(_steps(value)) * max(1, int(least) if isinstance(least, int | float) else 1)
            else:
                yield from _named(value)
        case _:
            yield from _named(value if isinstance(value, list) else [*str(value).split(",")])


def _named(value: JsonValue) -> Iterator[ToolCall]:
    for name in value if isinstance(value, list) else [value]:
        yield from _steps(name.strip() if isinstance(name, str) else name)


def _steps(step: JsonValue) -> Iterator[ToolCall]:
    if isinstance(step, str):
        if step.strip("*? "):
            yield ToolCall(tool=step.replace("*", "x").replace("?", "x"))
        return
    if not isinstance(step, dict):
        return
    several = step.get("unordered")
    if isinstance(several, list):
        for item in several:
            yield from _steps(item)
        return
    choices = step.get("anyOf")
    if isinstance(choices, list) and choices:
        yield from _steps(choices[0])
        return
    name, arguments = step.get("name", step.get("pattern")), step.get("args", {})
    if isinstance(name, str) and name:
        held = {key: _fitting(value) for key, value in arguments.items()} if isinstance(arguments, dict) else {}
        yield ToolCall(tool=name.replace("*", "x").replace("?", "x"), arguments=held)


def _fitting(value: JsonValue) -> JsonValue:
    """A value that fits what an argument is asked to be."""
    if isinstance(value, list):
        return [_fitting(item) for item in value]
    if not isinstance(value, dict):
        return value
    for key in ("$exact", "$partial", "$number"):
        if key in value:
            return _fitting(value[key])
    if isinstance(value.get("$regex"), str):
        return text_found_by(str(value["$regex"])) or "a"
    if "$ignore" in value:
        return "a"
    return {key: _fitting(item) for key, item in value.items()}
