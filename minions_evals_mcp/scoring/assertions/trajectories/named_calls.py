"""The calls that a check of the trajectory names: where it names them, and with which arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.scoring.assertions.trajectories.effects import CallMatcher, EffectCheck
from minions_evals_mcp.scoring.assertions.trajectories.steps import OUTSIDE, items, mapping, texts

TOOL_CHECKS = frozenset(
    f"trajectory:{kind}" for kind in ("match", "step-count", "tool-args-match", "tool-sequence", "tool-used")
)
_OF_ANY_TYPE = frozenset({"trajectory:match", "trajectory:step-count"})
"""The checks in which a name without a type means a tool or a command."""
_HOLDS_OTHERS = ("steps", "forbidden", "unordered", "anyOf")


class NamedCall(NamedTuple):
    """A call that is named at a place in a check. `tool` and `server` are patterns, `key` is the key that holds the tool.

    `alone`: it stands in a list that holds names only. `command`: it may name a command that a tool ran.
    """

    place: str
    tool: str
    server: str | None = None
    arguments: Mapping[str, JsonValue] = {}
    outside: bool = False
    key: str = "tool"
    arguments_key: str = "args"
    alone: bool = False
    command: bool = False


def named_calls(check: Assertion) -> Iterator[NamedCall]:
    """The calls that the check itself names; those of checks within it are not among them."""
    kind = check.base_type
    if kind == "effect" and isinstance(check.value, dict):
        read = EffectCheck.model_validate_json(canonical(check.value))
        yield _of_effect(read, f"{kind}: value", outside=read.outside)
        if read.before is not None:
            yield _of_effect(read.before, f"{kind}: value.before", outside=read.outside)
    elif kind == "tool-call-f1":
        names: list[JsonValue] = [*value.split(",")] if isinstance(value := check.value, str) else items(value)
        yield from _of_steps([*map(_stripped, names)], f"{kind}: value", types=("tool",))
    elif kind in TOOL_CHECKS:
        of_any_type = kind in _OF_ANY_TYPE
        for call in _of_steps(check.value, f"{kind}: value", types=() if of_any_type else ("tool",)):
            yield call._replace(alone=kind == "trajectory:tool-used" and isinstance(check.value, list))


def _stripped(name: JsonValue) -> JsonValue:
    return name.strip() if isinstance(name, str) else name


def _of_effect(calls: CallMatcher, place: str, *, outside: bool) -> NamedCall:
    return NamedCall(place, calls.tool, calls.server, calls.args, outside)


def _of_steps(value: JsonValue, place: str, *, types: Sequence[str]) -> Iterator[NamedCall]:
    """Steps as the checks of a trajectory write them: a name, {name, args, …}, or what holds several; `types` where none is said."""
    if isinstance(value, str):
        yield NamedCall(place, value, key="", command="tool" not in types)
    for number, step in enumerate(items(value)):
        yield from _of_steps(step, f"{place}.{number}", types=types)
    fields = mapping(value)
    for key in (key for key in _HOLDS_OTHERS if key in fields):
        yield from _of_steps(fields.get(key), f"{place}.{key}", types=types)
    key = "pattern" if fields.get("pattern") else "name"
    own = texts(fields.get("type")) or types
    if isinstance(fields.get(key), str) and (not own or "tool" in own):
        args = "arguments" if "args" not in fields and "arguments" in fields else "args"
        outside, command = fields.get(OUTSIDE) is True, not own or "command" in own
        yield NamedCall(place, str(fields[key]), None, mapping(fields.get(args)), outside, key, args, command=command)
