"""The neighbours as the operator's file names them: who takes what is queued for whom, and what is read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from agent.daemon import Route, log
from agent.integrations.neighbours_file import NeighboursFile, SourceReading, Telling
from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.mcp_version import vet_mcp
from minions_evals_mcp.operations.engine import wall_clock
from minions_evals_mcp.ports import Neighbour, Source
from minions_evals_mcp.toolboxes.files import FilesSource
from minions_evals_mcp.toolboxes.json_lines import JsonLinesFolder
from minions_evals_mcp.toolboxes.webhook import WebhookNeighbour

if TYPE_CHECKING:
    from minions_evals_mcp.toolboxes.mcp_line import McpLine

EVERYBODY_ELSE = "*"
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class RecordSource:
    """A source that is read, under its name in the file."""

    name: str
    source: Source
    every_s: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The neighbours that take what is queued for each addressee, and what is read."""

    route: Route
    origins: tuple[RecordSource, ...] = ()


@asynccontextmanager
async def open_neighbours(
    file: NeighboursFile, *, secrets: Mapping[str, str], folder: Path, otherwise: Route
) -> AsyncGenerator[Neighbours]:
    """The neighbours, each server's line open from its first use to the end; relative paths begin at `folder`."""
    if file.servers:
        vet_mcp()
    async with anyio.create_task_group() as tasks:
        lines: dict[str, McpLine] = {}
        if file.servers:
            from minions_evals_mcp.toolboxes.mcp_line import McpLine  # noqa: PLC0415  0.6 s that few agents need

            lines = {name: McpLine(name, server, secrets, tasks) for name, server in file.servers.items()}
        for name in {way.server for way in file.tell.values() if way.server is not None}:
            wanted = {way.tool for way in file.tell.values() if way.server == name and way.tool is not None}
            tasks.start_soon(
                _greet, lines[name], wanted
            )  # HR5: the first regression does not wait for a program's start
        tellers = {name: _teller(way, lines, folder, secrets) for name, way in file.tell.items()}

        def route(addressee: str) -> Neighbour | None:
            if addressee in tellers:
                return tellers[addressee]
            return tellers[EVERYBODY_ELSE] if EVERYBODY_ELSE in tellers else otherwise(addressee)

        origins = (
            RecordSource(name, _source(way, lines, folder), way.every_seconds) for name, way in file.read.items()
        )
        yield Neighbours(route, tuple(origins))
        tasks.cancel_scope.cancel()


async def _greet(line: McpLine, wanted: set[str]) -> None:
    """Opens the line already, and logs what would else be met at the first delivery: nobody there, or no such tool."""
    try:
        there = await line.tools()
    except InstrumentError as error:
        log.warning("integration-down", server=line.name, reason=str(error), hint="It is retried at each delivery.")
        return
    for tool in sorted(wanted - there):
        near = get_close_matches(tool, there, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(sorted(there)[:MOST_NAMED]) or 'none'}."
        log.error("integration-has-no-tool", server=line.name, tool=tool, hint=hint)


def _teller(way: Telling, lines: Mapping[str, McpLine], folder: Path, secrets: Mapping[str, str]) -> Neighbour | None:
    if way.webhook is not None:
        return WebhookNeighbour(way.webhook, secrets, patience=way.patience, clock=wall_clock)
    if way.folder is not None:
        return delivery_folder(folder / way.folder)
    if way.server is None or way.tool is None:
        return None
    from minions_evals_mcp.toolboxes.mcp_tools import McpNeighbour  # noqa: PLC0415  as above

    return McpNeighbour(lines[way.server], way.tool, way.arguments, patience=way.patience)


def delivery_folder(path: Path) -> JsonLinesFolder:
    """The folder, made at once where there is none yet; raises `BadInputError` where none can be made."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(
            f"{path}: cannot create a folder there: {error.strerror}.", remedy="Name a writable folder."
        ) from None
    return JsonLinesFolder(path)


def _source(way: SourceReading, lines: Mapping[str, McpLine], folder: Path) -> Source:
    if way.path is not None:
        return FilesSource(folder / way.path)
    assert way.server is not None
    assert way.tool is not None
    from minions_evals_mcp.toolboxes.mcp_tools import McpSource  # noqa: PLC0415  as above

    return McpSource(lines[way.server], way.tool, way.arguments)
