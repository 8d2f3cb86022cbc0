"""Mocked answers: the first rule of the tool that holds, its templates filled, and the state as it changes it."""

from __future__ import annotations

import copy
import re

from pydantic import JsonValue

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.querying.queries import QueryError, filled, holds
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.domain.worlds import StateChange, WorldServer, WorldTool
from minions_evals_mcp.world.calls import CallAnswer, WorldCall, tool_result
from minions_evals_mcp.world.holdings import ChangeError, Holdings, RefusedChangeError

_PART = re.compile(r"/((?:\{\{(?:(?!\}\}).)*\}\}|[^/{]|\{(?!\{))*)")
"""A part of a JSON Pointer that is a template: a slash within `{{…}}` belongs to the query."""


def mocked(server: WorldServer, call: WorldCall, state: Json, number: int, holdings: Holdings) -> CallAnswer:
    """The answer of the mocked tool; `number` counts the calls of the tool, this one included."""
    tool = next((tool for tool in server.tools if tool.name == call.tool), None)
    if tool is None:
        return CallAnswer(source="none", protocol_error=f"Unknown tool: {call.tool}", miss=f"unknown tool {call.tool}")
    data: Json = {"arguments": call.arguments, "state": state, "call": number}
    try:
        return _by_rule(tool, data, state, holdings)
    except RefusedChangeError as error:
        return CallAnswer(source="mock", result=tool_result(str(error), is_error=True))
    except (QueryError, ChangeError) as error:
        reason = f"a rule of {tool.name} cannot be applied: {error}"
        return CallAnswer(source="none", result=tool_result(reason, is_error=True), miss=reason)


def _by_rule(tool: WorldTool, arguments: Json, state: Json, holdings: Holdings) -> CallAnswer:
    for rule in tool.rules:
        data: Json = {**arguments, **holdings.seen_before(rule, arguments)}
        if rule.when is not None and not holds(rule.when, data):
            continue
        if rule.error is not None:
            return CallAnswer(source="mock", result=tool_result(filled(rule.error, data), is_error=True))
        changed = changed_state(state, rule.changes, data)
        after = changed if rule.changes else state
        try:
            data = {**data, **holdings.changed_by(rule, data)}
            result = tool_result(filled(rule.result, {**data, "state": after}))
        except (QueryError, ChangeError, RefusedChangeError):
            holdings.take_back()
            raise
        return CallAnswer(source="mock", result=result, state=changed if rule.changes else None)
    if not tool.rules:
        return CallAnswer(source="mock", result=tool_result("ok"))
    reason = f"no rule of {tool.name} matches these arguments"
    return CallAnswer(source="none", result=tool_result(reason, is_error=True), miss=reason)


def changed_state(state: Json, changes: tuple[StateChange, ...], data: Json) -> Json:
    """The state after the changes, in their order; raises `ChangeError` where one cannot be made."""
    after = copy.deepcopy(state)
    for change in changes:
        path = _path(change.path, {**data, "state": after})
        _change(after, path, change, filled(change.value, {**data, "state": after}))
    return after


def _path(template: str, data: Json) -> list[str]:
    """The parts of the pointer; a filled value is one part, whatever characters it holds."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in _PART.findall(template)]
    return [value if isinstance(value := filled(part, data), str) else canonical(value) for part in parts]


def _change(state: JsonValue, path: list[str], change: StateChange, value: JsonValue) -> None:
    holder = state
    for part in path[:-1]:
        holder = _member(holder, part, path)
    last = path[-1]
    if isinstance(holder, list):
        _change_list(holder, last, change, value, path)
        return
    if not isinstance(holder, dict):
        raise ChangeError(f"/{'/'.join(path)}: its parent is neither an object nor a list")
    if change.op != "add" and last not in holder:
        raise ChangeError(f"/{'/'.join(path)}: there is nothing to {change.op}")
    match change.op:
        case "remove":
            del holder[last]
        case "increment":
            holder[last] = _sum(holder[last], value, path)
        case "add" | "replace":
            holder[last] = value


def _change_list(holder: list[JsonValue], last: str, change: StateChange, value: JsonValue, path: list[str]) -> None:
    if last == "-" and change.op == "add":
        holder.append(value)
        return
    if not last.isdecimal() or int(last) >= len(holder) + (change.op == "add"):
        raise ChangeError(f"/{'/'.join(path)}: no such position in the list")
    match change.op:
        case "add":
            holder.insert(int(last), value)
        case "remove":
            del holder[int(last)]
        case "increment":
            holder[int(last)] = _sum(holder[int(last)], value, path)
        case "replace":
            holder[int(last)] = value


def _member(holder: JsonValue, part: str, path: list[str]) -> JsonValue:
    if isinstance(holder, dict) and part in holder:
        return holder[part]
    if isinstance(holder, list) and part.isdecimal() and int(part) < len(holder):
        return holder[int(part)]
    raise ChangeError(f"/{'/'.join(path)}: {part!r} is missing on the path")


def _sum(value: JsonValue, by: JsonValue, path: list[str]) -> JsonValue:
    if (
        isinstance(value, bool)
        or isinstance(by, bool)
        or not isinstance(value, int | float)
        or not isinstance(by, int | float)
    ):
        raise ChangeError(f"/{'/'.join(path)}: only a number can be incremented by a number")
    total = value + by
    return total if isinstance(total, int) else round(total, 9)
