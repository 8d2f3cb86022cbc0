"""The world of one unit: opened for the agent under test, read once the agent is done, and gone afterwards."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.domain.worlds import WorldEvidence
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.known_secrets import masked, masked_json
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.world.attacking import attack_of, outcome, planted
from minions_evals_mcp.world.calling import CalledServers
from minions_evals_mcp.world.calls import ToolError, WorldCall, canonical_arguments
from minions_evals_mcp.world.faulting import FAULT
from minions_evals_mcp.world.handling import handlings, idle
from minions_evals_mcp.world.sessions import Clock, JournalEntry, WorldSession, new_session

MCP_CONFIG = "mcp.json"
VARIABLE = "MINIONS_EVALS_WORLD_MCP_CONFIG"
"""The variable that tells a program where the configuration of its tool servers is."""
FOLDER_VARIABLE, DATABASE_VARIABLE = "MINIONS_EVALS_WORLD_FOLDER", "MINIONS_EVALS_WORLD_DATABASE"
"""The variables that tell it where its world's files and database are, where the world has them."""
BETWEEN = ("__", ".", "/", ":")
"""What agents write between the name of a server and that of its tool."""
SHOWN = 120


@frozen_type
class UnitInWorld:
    """The world of one unit while its agent runs: what a Python task is given under the name `world`."""

    record: Record[World]
    session: WorldSession
    beside: list[ToolCall] = field(default_factory=list[ToolCall])
    """Calls of a Python task that were seen in this process: those of other tools join the trajectory."""
    servers: CalledServers = field(default_factory=CalledServers)

    @property
    def mcp_config(self) -> str:
        """The path of the configuration of its tool servers, `{"mcpServers": …}`, as MCP hosts and agents read it."""
        return str(self.session.folder / MCP_CONFIG)

    @property
    def folder(self) -> str | None:
        """The path of its folder of files, if it has one."""
        return _text(self.session.holdings.files)

    @property
    def database(self) -> str | None:
        """The path of its database, if it has one."""
        return _text(self.session.holdings.database)

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that it answers for without a real server."""
        tools = frozenset(tool for name in self.session.world.servers for tool in self.session.tools(name))
        plant = self.session.planted
        return tools if plant is None else tools | {plant.honeypot}

    def call(self, tool: str, /, **arguments: JsonValue) -> JsonValue:
        """The result of a tool, for an agent that speaks no MCP; raises `ToolError` where the tool answers with an error."""
        servers = [name for name in self.session.world.servers if tool in self.session.tools(name)]
        if self.session.planted is not None and tool == self.session.planted.honeypot:
            servers = [*self.session.world.servers][:1]
        if len(servers) == 1 and not self.session.world.servers[servers[0]].may_start:
            answer = self.session.answer_now(WorldCall(servers[0], tool, arguments))
            time.sleep(answer.delay_ms / 1000)
        else:
            answer = self.servers.call(self.session, tool, arguments)
        if answer.error is not None:
            raise ToolError(answer.error)
        return answer.value

    def environment(self) -> dict[str, str]:
        """The variables that tell a program of it."""
        places = {FOLDER_VARIABLE: self.folder, DATABASE_VARIABLE: self.database}
        return {VARIABLE: self.mcp_config, **{name: place for name, place in places.items() if place is not None}}

    def met_fault(self) -> bool:
        """Whether a call met a fault so far."""
        return any(FAULT in entry.answer.notes for entry in self.session.entries())

    def ended(
        self, claimed: Sequence[ToolCall] | None, *, said: str, given: JsonValue
    ) -> tuple[tuple[ToolCall, ...], WorldEvidence]:
        """The calls that were made, and what else is known.

        `claimed` are the calls that the agent reports, if it does, `said` is its final answer, `given` what it was asked.
        """
        entries = self.session.entries()
        calls = tuple(map(_tool_call, entries))
        known = {entry.tool for entry in entries} | self.tools
        others = tuple(call for call in (*(claimed or ()), *self.beside) if _own_name(call.tool, known) is None)
        plant = self.session.planted
        pairs = [(WorldCall(entry.server, entry.tool, entry.arguments), entry.answer) for entry in entries]
        database, files = self.session.kept()
        evidence = WorldEvidence(
            world=self.record.id,
            state=cast("Json", masked_json(self.session.state())),
            database=None if database is None else masked(database),
            files=None if files is None else cast("dict[str, str | None]", masked_json(cast("Json", files))),
            misses=tuple(entry.answer.miss for entry in entries if entry.answer.miss is not None),
            differences=() if claimed is None else tuple(_differences(entries, claimed, known)),
            faults=handlings(entries, said, given),
            idle=tuple(fault.written for fault in idle(self.session.world.faults, entries)),
            attack=None if plant is None else outcome(plant, pairs, said),
            unreached=not entries and not self.session.is_reached(),
        )
        return (*calls, *others), evidence


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _tool_call(entry: JournalEntry) -> ToolCall:
    """The call as a step of the trajectory."""
    answer = entry.answer
    more: Json = {"server": entry.server, "answeredBy": answer.source, **answer.notes}
    return ToolCall(
        tool=entry.tool,
        arguments=entry.arguments,
        result=answer.value,
        error=answer.error,
        duration_ms=entry.duration_ms + answer.delay_ms,
        started_at=entry.started_at,
        extra=more if answer.miss is None else {**more, "missed": answer.miss},
    )


def _own_name(name: str, known: set[str]) -> str | None:
    """The tool of the world that the agent means by the name, which may begin with that of the server."""
    if name in known:
        return name
    return next((tool for tool in known if name.endswith(tuple(f"{sign}{tool}" for sign in BETWEEN))), None)


def _differences(entries: Sequence[JournalEntry], claimed: Sequence[ToolCall], known: set[str]) -> list[str]:
    made = Counter((entry.tool, canonical_arguments(entry.arguments)) for entry in entries)
    said = Counter(
        (tool, canonical_arguments(call.arguments)) for call in claimed if (tool := _own_name(call.tool, known))
    )
    return [
        *(f"the agent reports a call {tool} {_cut(arguments)} that did not happen" for tool, arguments in said - made),
        *(f"the agent does not report its call {tool} {_cut(arguments)}" for tool, arguments in made - said),
    ]


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


@contextmanager
def unit_in_world(
    record: Record[World], base: Path, *, clock: Clock, unit: str = "", attack: str | None = None
) -> Generator[UnitInWorld]:
    """A fresh copy of the world, until this ends; raises `BadInputError` where a tape cannot be read.

    `unit` tells its draws from those of other units, `attack` is the id of a shipped attack that is planted.
    """
    plant = None if attack is None else planted(attack_of(attack))
    session = new_session(record.fields, base, clock=clock, unit=unit, planted=plant)
    try:
        for name, server in record.fields.servers.items():
            if server.mode == "replay":
                session.tape(name)
        servers = {name: _command(session.folder, name) for name in record.fields.servers}
        (session.folder / MCP_CONFIG).write_text(json.dumps({"mcpServers": servers}, indent=1), "utf-8")
        yield UnitInWorld(record, session)
    finally:
        session.remove()


def _command(folder: Path, server: str) -> Json:
    """The command that serves a server of the unit, for an agent's configuration."""
    arguments: list[JsonValue] = ["-P", "-m", "minions_evals_mcp.world", str(folder), server]
    return {"type": "stdio", "command": sys.executable, "args": arguments}


def vet_started(record: Record[World], *, agreed: bool) -> None:
    """Raises `BadInputError` where the world starts real servers and the operator has not agreed."""
    if agreed or not record.fields.commands():
        return
    names = [name for name, server in record.fields.servers.items() if server.may_start]
    raise BadInputError(
        f"the world {record.id} starts the real server{'s' if len(names) > 1 else ''} {', '.join(names)}, which needs your consent.",
        remedy=f"{Next('world-check', {'world': record.id}, 'shows the command and asks for your consent')}.",
    )
