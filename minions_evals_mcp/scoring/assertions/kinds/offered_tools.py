"""`is-valid-openai-tools-call`, `is-valid-function-call`: calls in a model's output, against the tools that it was offered.

The tools are those of the provider that answered (`tools`, `functions`), as its config says them. A call of a tool that was
not offered, or with arguments that do not fit its schema, fails. Where promptfoo 0.123.1 and we differ: a schema that
could be read two ways is no verdict; there it fails the output.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.schema import first_error, vet_schema
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

VALID = UnweightedResult(passed=True, reason="every call matches an offered tool")


def openai_tools_call(_assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The output is a list of OpenAI tool calls (or a message with some), and each fits one of the provider's `tools`."""
    value = subject.value or subject.record  # a message's text is taken out of it
    calls = value.get("tool_calls") if isinstance(value, dict) else value
    if not isinstance(calls, list) or not calls or not all(_is_call(call) for call in calls):
        return _failed(f"the output has no list of tool calls: {excerpt(subject.text)}")
    offered = subject.offered.get("tools")
    if not isinstance(offered, list):
        return _failed("the provider offers no tools")
    functions = [
        tool["function"]
        for tool in offered
        if isinstance(tool, dict) and tool.get("type") == "function" and isinstance(tool.get("function"), dict)
    ]
    return _all_fit((call["function"] for call in calls if isinstance(call, dict)), functions)


def function_call(_assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The output is one call {name, arguments}, and it fits one of the provider's `functions`; or calls in Gemini's form."""
    value = subject.value or subject.record
    offered = subject.offered.get("functions")
    if isinstance(value, dict) and _is_named(value):
        return _all_fit([value], offered if isinstance(offered, list) else [])
    declared = _declared(subject.offered.get("tools"))
    if isinstance(value, list) and declared is not None:
        calls = [part["functionCall"] for part in value if isinstance(part, dict) and "functionCall" in part]
        return _all_fit((_as_openai(call) for call in calls), declared)
    return _failed(f"the output is not a function call: {excerpt(subject.text)}")


def vet_nothing(assertion: Assertion) -> None:
    """Refuses a `threshold`: a call fits, or it does not."""
    if assertion.threshold is not None:
        raise InvalidRecordError(f"{assertion.base_type} has none", field="threshold")


def _failed(reason: str) -> UnweightedResult:
    return UnweightedResult(passed=False, reason=reason)


def _is_named(call: JsonValue) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str) and isinstance(call.get("arguments"), str)


def _is_call(call: JsonValue) -> bool:
    return isinstance(call, dict) and _is_named(call.get("function"))


def _declared(tools: JsonValue) -> list[JsonValue] | None:
    """The functions that tools in Gemini's form declare."""
    for tool in tools if isinstance(tools, list) else []:
        declarations = tool.get("functionDeclarations") if isinstance(tool, dict) else None
        if isinstance(declarations, list):
            return declarations
    return None


def _as_openai(call: JsonValue) -> JsonValue:
    if not isinstance(call, dict):
        return call
    arguments = call.get("args")
    return {
        "name": call.get("name"),
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments or {}),
    }


def _all_fit(calls: Iterator[JsonValue] | list[JsonValue], functions: list[JsonValue]) -> UnweightedResult | Unmet:
    for call in calls:
        assert isinstance(call, dict), "looked at before"
        why = _misfit(call, functions)
        if why is not None:
            return why
    return VALID


def _misfit(call: Json, functions: list[JsonValue]) -> UnweightedResult | Unmet | None:
    """Returns why the call fits no function that was offered."""
    name = call.get("name")
    offered = next(
        (function for function in functions if isinstance(function, dict) and function.get("name") == name), None
    )
    if offered is None or offered.get("parameters") is None:
        return _failed(f"{name} was called, but no tool with that name and parameters was offered")
    try:
        arguments: JsonValue = json.loads(str(call.get("arguments")))
    except ValueError:
        return _failed(f"the arguments of {name} are not JSON: {excerpt(call.get('arguments'))}")
    try:
        vet_schema(offered["parameters"])
        error = first_error(offered["parameters"], arguments)
    except InvalidRecordError as unread:
        return Unmet(f"the parameters of the tool {name}: {unread.reason}")
    return _failed(f"the arguments of {name} do not match: {error}") if error else None


TYPES: dict[str, AssertionKind] = {
    "is-valid-function-call": AssertionKind(function_call, vet_nothing, turned_there=False),
    "is-valid-openai-function-call": AssertionKind(function_call, vet_nothing, turned_there=False),
    "is-valid-openai-tools-call": AssertionKind(openai_tools_call, vet_nothing, turned_there=False),
}
