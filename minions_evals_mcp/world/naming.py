"""Names of tools, servers and parts of the state that a case or a run uses, against those that its world has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from minions_evals_mcp.domain.assertions import NEGATION, Assertion
from minions_evals_mcp.domain.definitions import TestCase, World
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.querying.queries import root_fields
from minions_evals_mcp.domain.worlds import Fault
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.assertions.trajectories.effects import CallMatcher, EffectCheck, StateCheck
from minions_evals_mcp.scoring.assertions.trajectories.steps import fits_pattern
from minions_evals_mcp.world.attacking import HONEYPOT
from minions_evals_mcp.world.sessions import tape_of

MOST_NAMED = 20


class UnknownName(NamedTuple):
    """A name that the world does not have: the field that it stands in, what is wrong, and what would do."""

    field: str
    reason: str
    remedy: str = ""


@frozen_type
class Offered:
    """What can be named of a world: the tools of each server, None where only the real one knows them."""

    world: World
    tools: Mapping[str, frozenset[str] | None]

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


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    hint = f"; did you mean {near[0]!r}? It" if near and len(known) > 1 else "; it"
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    named = f"{', '.join(known[:MOST_NAMED])}{more}" or "none"
    return f"the world has no {what} {name!r}{hint} has {named}"


def offered(world: World, *, tapes_in: Path | None = None) -> Offered:
    """What the world offers. Its tapes are read only where `tapes_in` says from which folder."""
    tools: dict[str, frozenset[str] | None] = {}
    for name, server in world.servers.items():
        tools[name] = frozenset(tool.name for tool in server.tools) if server.mode == "mock" else None
        if server.mode == "replay" and tapes_in is not None:
            try:
                tape = tape_of(server, tapes_in)
            except BadInputError:
                continue  # the unit says what is wrong with the tape
            listed = (str(tool.get("name")) for tool in tape.head.tools)
            tools[name] = frozenset((*listed, *(call.tool for call in tape.calls)))
    return Offered(world, tools)


def unknown_faults(faults: Sequence[Fault], known: Offered) -> Iterator[UnknownName]:
    """The faults of tools that the world does not have: they would never strike."""
    for number, fault in enumerate(faults):
        reason = known.unknown_tool(fault.tool)
        if reason:
            yield UnknownName(f"faults.{number}.tool", reason)


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
    kind = check.type.removeprefix(NEGATION)
    if not isinstance(check.value, dict):
        return
    if kind == "effect":
        read = EffectCheck.model_validate_json(canonical(check.value))
        yield from _of_calls(read, f"{place}: effect: value", known, outside=read.outside)
        if read.before is not None:
            yield from _of_calls(read.before, f"{place}: effect: value.before", known, outside=read.outside)
    elif kind == "state":
        yield from _of_state(StateCheck.model_validate_json(canonical(check.value)), f"{place}: state: value", known)


OUTSIDE = "If it is a tool of the agent's own, outside of the world, add `outside: true`."


def _of_calls(calls: CallMatcher, place: str, known: Offered, *, outside: bool) -> Iterator[UnknownName]:
    server = known.unknown_server(calls.server)
    if server:
        yield UnknownName(f"{place}.server", server)
    elif not outside and calls.tool != HONEYPOT and (tool := known.unknown_tool(calls.tool, calls.server)):
        yield UnknownName(f"{place}.tool", tool, OUTSIDE)


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
    for name in root_fields(query):
        if name not in parts:
            yield UnknownName(place, _unknown("state", name, sorted(parts)))
