"""The steps of an agent's run: its log of calls, and which of them a name, a pattern or an object means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.patterns import linear
from minions_evals_mcp.scoring.values import excerpt, frozen

if TYPE_CHECKING:
    from minions_evals_mcp.domain.neighbours import ToolCall

COMMAND_TOOLS = frozenset({"exec_command", "local_shell", "shell"})
STEP_TYPES = frozenset({"command", "tool"})
"""The types of steps in a log of tool calls."""
TRACED_TYPES = STEP_TYPES | {"message", "reasoning", "search", "span"}
"""The types of steps in a trace."""
NAME_LIMIT = 400
OUTSIDE = "outside"
"""The key by which a matcher says that the tool is one of the agent's own, which its world does not have."""
MATCHER_KEYS = frozenset({"name", "pattern", "type", OUTSIDE})

_SPECIAL = re.compile(r"[.+^${}()|\[\]\\]")


@frozen_type
class CalledStep:
    """One step: what it is called, by any of its names, what it was given, where that is known, and whether it failed."""

    type: Literal["tool", "command", "message", "reasoning", "search", "span"]
    names: tuple[str, ...]
    arguments: JsonValue
    has_arguments: bool = True
    failed: bool = False


class Matcher(NamedTuple):
    """The steps that are meant: those of a type whose name fits the pattern (`*`, `?`, any case); none means any."""

    types: frozenset[str]
    pattern: str

    def fits(self, step: CalledStep) -> bool:
        """Returns whether the step is one of those."""
        if self.types and step.type not in self.types:
            return False
        return not self.pattern or any(fits_pattern(self.pattern, name) for name in step.names)


def steps_of(calls: Iterable[ToolCall]) -> list[CalledStep]:
    """The steps of a log, in order."""
    return [_step(call) for call in calls]


def _step(call: ToolCall) -> CalledStep:
    command = command_of(call.arguments) if call.tool.strip().lower() in COMMAND_TOOLS else ""
    if not command:
        return CalledStep("tool", (call.tool,), call.arguments, failed=call.error is not None)
    names = (call.tool, command, command.split()[0])
    return CalledStep("command", names, call.arguments, failed=call.error is not None)


def command_of(arguments: Mapping[str, JsonValue]) -> str:
    """The command among the arguments of a tool that runs some; empty where there is none."""
    for key, between in (("cmd", " "), ("command", " "), ("commands", "; ")):
        if key in arguments:
            command = arguments[key]
            parts = command if isinstance(command, list) else [command]
            return between.join(part.strip() for part in parts if isinstance(part, str) and part.strip())
    return ""


def matcher_of(value: JsonValue, default: str) -> Matcher:
    """Returns which steps a name, or {name, pattern, type}, means; `default` is the type where none is said."""
    if isinstance(value, str):
        return Matcher(frozenset({default}) - {""}, value)
    members = mapping(value)
    types = members.get("type") or default
    pattern = members.get("pattern") or members.get("name") or ""
    return Matcher(frozenset(texts(types)) - {""}, str(pattern))


@lru_cache(maxsize=1024)
def fits_pattern(pattern: str, name: str) -> bool:
    """Returns whether the name fits a pattern in which `*` stands for anything and `?` for one character, in any case."""
    escaped = _SPECIAL.sub(r"\\\g<0>", pattern)
    return linear("(?i)^" + escaped.replace("*", ".*").replace("?", ".") + "$")(name)


def texts(value: JsonValue) -> list[str]:
    """The elements of a list as texts, or a text alone."""
    return [str(item) for item in value] if isinstance(value, list) else [] if value is None else [str(value)]


def items(value: JsonValue) -> list[JsonValue]:
    """The list, empty where it is none."""
    return value if isinstance(value, list) else []


def mapping(value: JsonValue) -> dict[str, JsonValue]:
    """The object, empty where it is none."""
    return value if isinstance(value, dict) else {}


def without(arguments: dict[str, JsonValue], ignored: Sequence[str]) -> dict[str, JsonValue]:
    """The arguments whose names no entry of `ignored` fits."""
    return {
        key: argument for key, argument in arguments.items() if not any(is_ignored(entry, key) for entry in ignored)
    }


def is_ignored(entry: str, key: str) -> bool:
    """Returns whether an entry is the name of an argument, or a pattern of it."""
    return entry == key or (bool({"*", "?"} & {*entry}) and fits_pattern(entry, key))


def same(actual: JsonValue, wanted: JsonValue) -> bool:
    """Returns whether two JSON values are equal."""
    return frozen(actual) == frozen(wanted)


def vet_object(value: JsonValue, keys: Iterable[str]) -> dict[str, JsonValue]:
    """The object; refuses anything else, and keys that are not known."""
    if not isinstance(value, dict):
        raise InvalidRecordError(f"must be an object, not {excerpt(value)}", field="value")
    if unknown := sorted(value.keys() - set(keys)):
        raise InvalidRecordError(f"has no {unknown[0]!r}; known are {', '.join(sorted(keys))}", field="value")
    return value


def vet_matcher(value: JsonValue, also: Iterable[str], *, named: bool, types: frozenset[str] = TRACED_TYPES) -> None:
    """Refuses what names no steps, or steps of other types than these."""
    members = vet_object(value, {*MATCHER_KEYS, *also})
    for key in ("name", "pattern"):
        if key in members:
            vet_pattern(members[key], f"value.{key}")
    if named and "name" not in members and "pattern" not in members:
        raise InvalidRecordError('must have "name" or "pattern"', field="value")
    if not isinstance(members.get(OUTSIDE, False), bool):
        raise InvalidRecordError("must be true or false", field=f"value.{OUTSIDE}")
    for text in texts(members.get("type")):
        if text not in types:
            log = "the log of tool calls" if types == STEP_TYPES else "a trace"
            raise InvalidRecordError(f"{text!r} is not in {log}; it has {', '.join(sorted(types))}", field="value.type")


def traced_only(value: JsonValue) -> str:
    """A type of steps that the matchers in a `value` name and that only a trace has; empty where they name none."""
    held = [value, *items(value), *items(mapping(value).get("steps"))]
    types = (text for matcher in held for text in texts(mapping(matcher).get("type")))
    return next((text for text in types if text in TRACED_TYPES - STEP_TYPES), "")


def vet_pattern(value: JsonValue, field: str) -> None:
    """Refuses what is no name and no pattern."""
    if not isinstance(value, str) or not value.strip() or len(value) > NAME_LIMIT:
        raise InvalidRecordError(f"must be a name or a pattern, not {excerpt(value)}", field=field)
