"""Names of tools, servers and parts of the state that a case or a run uses, against those that its world has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import TestCase, World
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.querying.queries import places_in, root_paths
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.domain.worlds import Fault, MockRule
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.assertions.trajectories.effects import StateCheck
from minions_evals_mcp.scoring.assertions.trajectories.named_calls import NamedCall, named_calls
from minions_evals_mcp.scoring.assertions.trajectories.steps import COMMAND_TOOLS, fits_pattern, mapping
from minions_evals_mcp.store.worlds.databases import names_in
from minions_evals_mcp.world.attacking import HONEYPOT
from minions_evals_mcp.world.sessions import tape_of
from minions_evals_mcp.world.tapes import Tape

MOST_NAMED = 20


class UnknownName(NamedTuple):
    """A name that the world does not have: the field that it stands in, what is wrong, and what would do."""

    field: str
    reason: str
    remedy: str = ""


Arguments = Mapping[str, "Arguments | None"]
"""The names of arguments with those within them, None where it can be any."""
Tools = Mapping[str, Arguments | None]
"""Tools with the names of their arguments, None where a tool takes any."""
_OPEN = ("$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties", "additionalProperties", "dependentSchemas")
"""The keys by which a schema can take arguments that are not among its `properties`."""


@frozen_type
class Offered:
    """What can be named of a world: the tools of each server, None where only the real one knows them."""

    world: World
    tools: Mapping[str, Tools | None]

    def unknown_tool(self, tool: str, server: str | None = None) -> str:
        """What is wrong with a pattern of tools, perhaps of one server; empty where it fits one, or nobody can know."""
        servers = [name for name in self.tools if server is None or fits_pattern(server, name)]
        known = [self.tools[name] for name in servers]
        if None in known:
            return ""
        tools = sorted({name for of_server in known for name in of_server or ()})
        if any(fits_pattern(tool, name) for name in tools):
            return ""
        return _unknown("tool", tool, tools)

    @property
    def runs_commands(self) -> bool:
        """Whether one of its tools runs commands, which checks can name as steps."""
        return any(tool.lower() in COMMAND_TOOLS for of in self.tools.values() for tool in of or ())

    def unknown_argument(self, path: Sequence[str], tool: str, server: str | None = None) -> str:
        """What is wrong with an argument of the tools that a pattern fits, or with a name within it.

        Empty where one has it, or nobody can know.
        """
        servers = [of for name, of in self.tools.items() if server is None or fits_pattern(server, name)]
        taken = [names for of in servers for name, names in (of or {}).items() if fits_pattern(tool, name)]
        if not taken or None in servers or any(_takes(names, path) for names in taken):
            return ""
        depth = next(at for at in range(len(path)) if not any(_takes(names, path[: at + 1]) for names in taken))
        known = sorted({".".join([*path[:depth], name]) for names in taken for name in _within(names, path[:depth])})
        return _unknown("argument", ".".join(path[: depth + 1]), known, of=f"the tool {tool!r}")

    def unknown_server(self, server: str | None) -> str:
        """What is wrong with a pattern of servers."""
        if server is None or any(fits_pattern(server, name) for name in self.tools):
            return ""
        return _unknown("server", server, sorted(self.tools))


def unknown_in_all(tool: str, worlds: Sequence[Offered]) -> str:
    """What is wrong with a pattern of tools that fits none of any of these worlds; empty where it may fit one."""
    if not worlds or not all(world.unknown_tool(tool) for world in worlds):
        return ""
    tools = {name for world in worlds for of_server in world.tools.values() for name in of_server or ()}
    return _unknown("tool", tool, sorted(tools))


def _unknown(what: str, name: str, known: Sequence[str], *, of: str = "the world") -> str:
    near = get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]!r}? It" if near and len(known) > 1 else "; it"
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    named = f"{', '.join(known[:MOST_NAMED])}{more}" or "none"
    return f"{of} has no {what} {name!r}{hint} has {named}"


def offered(world: World, *, tapes_in: Path | None = None) -> Offered:
    """What the world offers. Its tapes are read only where `tapes_in` says from which folder."""
    tools: dict[str, Tools | None] = {}
    for name, server in world.servers.items():
        mocked = {tool.name: _arguments(tool.input_schema) for tool in server.tools}
        tools[name] = mocked if server.mode == "mock" else None
        if server.mode == "replay" and tapes_in is not None:
            try:
                tape = tape_of(server, tapes_in)
            except BadInputError:
                continue  # the unit says what is wrong with the tape
            tools[name] = _taped(tape)
    return Offered(world, tools)


def _taped(tape: Tape) -> Tools:
    """The tools that were listed when the tape was recorded, and those that it has calls of, with the arguments of both."""
    tools = {str(tool.get("name")): _arguments(mapping(tool.get("inputSchema"))) for tool in tape.head.tools}
    for call in tape.calls:
        names = tools.setdefault(call.tool, None)
        tools[call.tool] = _joined(names, call.arguments)
    return tools


def _joined(names: Arguments | None, given: JsonValue) -> Arguments | None:
    """The names with those that were given."""
    if names is None:
        return None
    for item in given if isinstance(given, list) else [given]:
        more = {key: _joined(names[key], inner) if key in names else None for key, inner in mapping(item).items()}
        names = {**names, **more}
    return names


def _takes(names: Arguments | None, path: Sequence[str]) -> bool:
    """Whether the names have those of the path, one in the other."""
    return names is None or not path or (path[0] in names and _takes(names[path[0]], path[1:]))


def _within(names: Arguments | None, path: Sequence[str]) -> Arguments:
    """The names at the end of the path."""
    for part in path:
        names = (names or {}).get(part)
    return names or {}


def _arguments(schema: Json) -> Arguments | None:
    """The arguments that a schema names, in the items of lists, too; None where it can take others."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or any(schema.get(key, False) is not False for key in _OPEN):
        return None
    inner = {name: mapping(of) for name, of in properties.items()}
    return {name: _arguments(mapping(of.get("items")) if "items" in of else of) for name, of in inner.items()}


def unknown_faults(faults: Sequence[Fault], known: Offered) -> Iterator[UnknownName]:
    """The faults of tools that the world does not have: they would never strike."""
    for number, fault in enumerate(faults):
        reason = known.unknown_tool(fault.tool)
        if reason:
            yield UnknownName(f"faults.{number}.tool", reason)


IN_RULE = "Correct it, or add it to the tool's `inputSchema`. If agents may send others, set `additionalProperties: true` there."


def unknown_in_rules(known: Offered) -> Iterator[UnknownName]:
    """The arguments in rules of mocked tools that the tool's schema does not have: no agent would send them."""
    for name, server in known.world.servers.items():
        for tool_number, tool in enumerate(server.tools):
            for number, rule in enumerate(tool.rules):
                for field, path in _arguments_of(rule):
                    if reason := known.unknown_argument(path, tool.name, name):
                        yield UnknownName(f"servers.{name}.tools.{tool_number}.rules.{number}.{field}", reason, IN_RULE)


def _arguments_of(rule: MockRule) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The arguments that a rule names, each with the field that it stands in."""
    for field, value in rule.model_dump(mode="json", exclude_none=True).items():
        if field in {"select", "sql"}:
            names = {(name,) for statement in ([value] if field == "select" else value) for name in names_in(statement)}
        else:
            queries = [value] if field == "when" else [*places_in(value)]
            paths = [path for query in queries for path in root_paths(query)]
            names = {path[1:] for path in paths if len(path) > 1 and path[0] == "arguments"}
        yield from ((field, path) for path in sorted(names))


def unknown_in_checks(case: TestCase, known: Offered) -> Iterator[UnknownName]:
    """The names in its checks that the world does not have: what never happens would never be seen."""
    places = [
        *((f"assertions[{number}]", check) for number, check in enumerate(case.assertions)),
        *(
            (f"turns.{turn}[{number}]", check)
            for turn, checks in case.turns.items()
            for number, check in enumerate(checks)
        ),
        *((f"everyTurn[{number}]", check) for number, check in enumerate(case.every_turn)),
        *((f"agentTurns[{number}]", check) for number, check in enumerate(case.agent_turns)),
    ]
    for place, check in places:
        yield from _of_check(check, place, known)
    ends = None if case.conversation is None else case.conversation.ends
    if ends is not None and ends.state is not None:
        yield from _of_query(ends.state, "conversation.ends.state", known)


def _of_check(check: Assertion, place: str, known: Offered) -> Iterator[UnknownName]:
    for number, inner in enumerate(check.assertions or ()):
        yield from _of_check(inner, f"{place}.assert[{number}]", known)
    for named in named_calls(check):
        yield from _of_call(named, f"{place}: {named.place}", known)
    if check.base_type == "state" and isinstance(check.value, dict):
        yield from _of_state(StateCheck.model_validate_json(canonical(check.value)), f"{place}: state: value", known)


TOOL_OUTSIDE = "If it is a tool of the agent's own, outside of the world, add `outside: true`."
IN_STEP = "If it is a tool of the agent's own, outside of the world, write `{{name: {tool}, outside: true}}`{where}."
ARGUMENT_OUTSIDE = "Correct it, add it to the tool's `inputSchema`, or add `outside: true`."


def _of_call(call: NamedCall, place: str, known: Offered) -> Iterator[UnknownName]:
    server = known.unknown_server(call.server)
    if server:
        yield UnknownName(f"{place}.server", server)
    elif call.outside or call.tool == HONEYPOT:
        return
    elif tool := known.unknown_tool(call.tool, call.server):
        if not (call.command and known.runs_commands):
            yield UnknownName(f"{place}.{call.key}" if call.key else place, tool, _if_outside(call))
    else:
        for path in _paths_in(call.arguments):
            if reason := known.unknown_argument(path, call.tool, call.server):
                yield UnknownName(f"{place}.{call.arguments_key}.{'.'.join(path)}", reason, ARGUMENT_OUTSIDE)


def _paths_in(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names in a value, each after those that it is within."""
    if isinstance(value, list):
        for item in cast("list[JsonValue]", value):
            yield from _paths_in(item, path)
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, JsonValue]", value).items():
            yield (*path, name)
            yield from _paths_in(inner, (*path, name))


def _if_outside(call: NamedCall) -> str:
    if call.key:
        return TOOL_OUTSIDE
    return IN_STEP.format(tool=call.tool, where=" in a check of its own" if call.alone else "")


def _of_state(check: StateCheck, place: str, known: Offered) -> Iterator[UnknownName]:
    if check.query is not None:
        yield from _of_query(check.query, f"{place}.query", known)
    elif check.sql is not None and known.world.database is None:
        yield UnknownName(f"{place}.sql", "the world has no database", "Add one, or ask its state with `query`.")
    elif check.file is not None and known.world.folder is None:
        yield UnknownName(f"{place}.file", "the world has no folder", "Add one, or ask its state with `query`.")


def _of_query(query: str, place: str, known: Offered) -> Iterator[UnknownName]:
    """A part of the state that is not there at first, and that no rule adds."""
    parts = {*known.world.state}
    for tool in (tool for server in known.world.servers.values() for tool in server.tools):
        for change in (change for rule in tool.rules for change in rule.changes):
            first = change.path.split("/")[1]
            if "{{" in first:
                return  # arguments say what it is called
            parts.add(first.replace("~1", "/").replace("~0", "~"))
    for name in {path[0] for path in root_paths(query)}:
        if name not in parts:
            yield UnknownName(place, _unknown("state", name, sorted(parts)))
