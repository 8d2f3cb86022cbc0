"""The steps of a traced output, read from its spans as promptfoo 0.123.1 reads them: each span is one step.

A span names a tool, a command or a search by the attributes that tracers write, or is reasoning, a message or a plain span.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertions.trajectories.steps import COMMAND_TOOLS, CalledStep, command_of, mapping
from minions_evals_mcp.scoring.checks import Subject, Unmet
from minions_evals_mcp.scoring.lenient import parsed
from minions_evals_mcp.scoring.reserved_inputs import COUNTED_SPANS

NO_TRACE = Unmet(
    "the spans of this output are unknown: its config does not trace calls, or the model does not use OpenAI's chat API",
    not_judgeable=True,
)
TOOL_NAMES = (
    "tool.name", "tool_name", "tool", "function.name", "function_name", "ai.toolCall.name", "gen_ai.tool.name",
    "agent.tool_name", "agent.tool", "agent.toolName", "codex.mcp.tool",
)  # fmt: skip
TOOL_ARGUMENTS = (
    *(f"tool{end}" for end in (".args", ".arguments", ".input", "_args", "_arguments", "_input")),
    *(f"function{end}" for end in (".args", ".arguments", ".input", "_args", "_arguments")),
    *(f"ai.toolCall{end}" for end in (".args", ".arguments", ".input")),
    *(f"gen_ai.tool{end}" for end in (".args", ".arguments", ".input", ".call.args", ".call.arguments")),
    *(f"agent.tool{end}" for end in (".args", ".arguments", ".input")),
    *(f"codex.mcp{end}" for end in (".args", ".arguments", ".input")),
    "args", "arguments", "input",
)  # fmt: skip
COMMANDS = ("codex.command", "command", "command.name", "command_name")
SEARCHES = ("codex.search.query", "search.query", "search_query")
CODEX_ITEM = "codex.item.type"
_NAMES_TOOL = late(r"tool.?name|function.?name", re.IGNORECASE)
_OF_TOOL, _NO_TOOL = late(r"(^|[._])tool($|[._])", re.IGNORECASE), late(r"result|output|definition", re.IGNORECASE)
_HOLDS_ARGUMENTS = late(r"(^|[._])(arguments|args|input)($|[._])", re.IGNORECASE)
_NO_ARGUMENTS = late(r"result|output|error|status", re.IGNORECASE)
_COMMAND, _NO_COMMAND = late(r"command", re.IGNORECASE), late(r"output|result", re.IGNORECASE)
_SEARCH_NAME = late(r"(^|[\s._:/-])(search|find|lookup|retriev(?:e|al))($|[\s._:/-])", re.IGNORECASE)
_SEARCH_KEY = late(r"(^|[._])(search|lookup|retriev(?:e|al))($|[._])", re.IGNORECASE)
_REASONING = late(r"reasoning([_\s]|$)", re.IGNORECASE)


def spans_of(subject: Subject) -> Sequence[Json] | Unmet:
    """The spans of the output's trace."""
    trace = mapping(subject.facts.get("trace"))
    spans = trace.get("spans", trace.get(COUNTED_SPANS))
    if "traceId" not in trace or not isinstance(spans, list):
        return NO_TRACE
    return [span for span in spans if isinstance(span, dict)]


def is_traced(subject: Subject) -> bool:
    """Returns whether the call that gave the output was traced, whether or not all its spans are known."""
    return "traceId" in mapping(subject.facts.get("trace"))


def steps_of_spans(spans: Iterable[Json]) -> list[CalledStep]:
    """The steps in the order in which they began; of those that began at once in the order in which they ended."""
    return [_step(span) for span in sorted(spans, key=_times)]


def _times(span: Json) -> tuple[float, float]:
    start, end = span.get("startTime"), span.get("endTime")
    began = float(start) if isinstance(start, int | float) else 0.0
    return began, float(end) if isinstance(end, int | float) else began


def _step(span: Json) -> CalledStep:
    name, attributes = str(span.get("name")), mapping(span.get("attributes"))
    tool = _tool(name, attributes)
    given = next(_arguments(attributes), None)
    is_command_tool = tool.lower() in COMMAND_TOOLS
    command = _command(name, attributes, given if is_command_tool else None)
    if command and is_command_tool:
        return CalledStep(
            "command", _distinct(command, name, tool, command.split()[0]), given, has_arguments=given is not None
        )
    if tool:
        return CalledStep("tool", _distinct(tool, name), given, has_arguments=given is not None)
    if command:
        return CalledStep("command", _distinct(command, name, command.split()[0]), None, has_arguments=False)
    if search := _search(name, attributes):
        return CalledStep("search", _distinct(search, name), None, has_arguments=False)
    if attributes.get(CODEX_ITEM) == "reasoning" or _REASONING.match(name):
        return CalledStep("reasoning", _distinct(name, "reasoning"), None, has_arguments=False)
    if attributes.get(CODEX_ITEM) == "agent_message" or name in {"agent response", "send input"}:
        return CalledStep("message", _distinct(name, "message"), None, has_arguments=False)
    return CalledStep("span", (name,), None, has_arguments=False)


def _distinct(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _first(attributes: Json, keys: Iterable[str]) -> str:
    """The first of these attributes that is a text with something in it."""
    return next((value for _, value in _texts(attributes, lambda _: True, keys)), "")


def _texts(
    attributes: Json, is_meant: Callable[[str], object], keys: Iterable[str] | None = None
) -> Iterator[tuple[str, str]]:
    """The attributes with a meant name that are texts with something in them, without the blanks around."""
    for key in attributes if keys is None else keys:
        value = attributes.get(key)
        if isinstance(value, str) and value.strip() and is_meant(key):
            yield key, value.strip()


def _tool(name: str, attributes: Json) -> str:
    if direct := _first(attributes, TOOL_NAMES):
        return direct
    for _, text in _texts(attributes, _may_name_tool):
        if not _is_structure(text):
            return text
    return name.rpartition("/")[2].strip() if name.startswith("mcp ") and "/" in name else ""


def _may_name_tool(key: str) -> bool:
    return bool(_NAMES_TOOL.search(key) or (_OF_TOOL.search(key) and not _NO_TOOL.search(key)))


def _is_structure(text: str) -> bool:
    return text.startswith(("[", "{")) and isinstance(_decoded(text), dict | list)


def _decoded(text: str) -> JsonValue:
    """The value of a text that is JSON, else the text."""
    try:
        return parsed(text)
    except json.JSONDecodeError:
        return text


def _arguments(attributes: Json) -> Iterator[JsonValue]:
    """What a tool was given, by what the attributes that may hold it say, the likeliest first."""
    others = (key for key in attributes if _HOLDS_ARGUMENTS.search(key) and not _NO_ARGUMENTS.search(key))
    for key in (*TOOL_ARGUMENTS, *others):
        value = attributes.get(key)
        if isinstance(value, str):
            value = _decoded(value.strip()) if value.strip() else None
        if value is not None:
            yield value


def _command(name: str, attributes: Json, given: JsonValue) -> str:
    if direct := _first(attributes, COMMANDS):
        return direct
    for _, text in _texts(attributes, lambda key: _COMMAND.search(key) and not _NO_COMMAND.search(key)):
        return text
    return command_of(mapping(given)) or (name.removeprefix("exec ").strip() if name.startswith("exec ") else "")


def _search(name: str, attributes: Json) -> str:
    if direct := _first(attributes, SEARCHES):
        return direct
    query = _first(attributes, ("query",))
    if query and (_SEARCH_NAME.search(name) or any(key != "query" and _SEARCH_KEY.search(key) for key in attributes)):
        return query
    return (
        name.removeprefix("search ").removeprefix('"').removesuffix('"').strip() if name.startswith("search ") else ""
    )
