"""A line to a neighbour's MCP server: opened at the first call, held, and opened anew after it broke."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TextIO, TypeVar

import anyio
import httpx2
from anyio.abc import TaskGroup, TaskStatus
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.errors import InstrumentError, first_of
from minions_evals_mcp.outgoing import open_client
from minions_evals_mcp.toolboxes.servers import ServerSettings

CALL_S = 20.0
"""So long a neighbour may take to answer; a line on which it takes longer is given up."""
CONNECT_S = 20.0
MOST_PAGES = 1000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Held:
    """A client that is connected, until it is let go."""

    client: Client
    let_go: anyio.Event = field(default_factory=anyio.Event)


class McpLine:
    """One neighbour's server. Calls may run side by side; the line lives in the task group until that ends."""

    def __init__(self, name: str, settings: ServerSettings, secrets: Mapping[str, str], tasks: TaskGroup) -> None:
        self.name = name
        self._settings = settings
        self._secrets = secrets
        self._tasks = tasks
        self._opening = anyio.Lock()
        self._held: _Held | None = None

    async def call(self, tool: str, arguments: Json) -> CallToolResult:
        """Returns what the tool answered, be it an error of its own.

        Raises `InstrumentError` where the server cannot be started or reached, breaks off, or takes too long.
        """
        return await self._ask(tool, lambda client: client.call_tool(tool, arguments))

    async def tools(self) -> frozenset[str]:
        """The names of the tools that the server has; raises as `call` does."""
        names: list[str] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._ask("tools/list", partial(Client.list_tools, cursor=cursor))
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        return frozenset(names)

    async def _ask(self, what: str, ask: Callable[[Client], Awaitable[T]]) -> T:
        held = await self._connected()
        try:
            with anyio.fail_after(CALL_S):
                return await ask(held.client)
        except MCPError as error:
            self._drop(held)
            raise InstrumentError(f"{self.name}/{what}: {error.message}.") from None
        except TimeoutError:
            self._drop(held)
            raise InstrumentError(f"{self.name}/{what}: no answer within {CALL_S:g} s.") from None
        except (OSError, httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            self._drop(held)
            raise self._unreachable(error) from None

    def _drop(self, held: _Held) -> None:
        held.let_go.set()
        if self._held is held:
            self._held = None

    async def _connected(self) -> _Held:
        async with self._opening:
            if self._held is None:
                self._held = await self._opened()
            return self._held

    async def _opened(self) -> _Held:
        try:
            with anyio.fail_after(CONNECT_S):
                return await self._tasks.start(self._hold)
        except TimeoutError:
            raise InstrumentError(f"{self.name}: no connection within {CONNECT_S:g} s.") from None
        except Exception as error:  # noqa: BLE001  whatever hinders the start of somebody else's program, it is tried again
            raise self._unreachable(error) from None

    def _unreachable(self, error: Exception) -> InstrumentError:
        cause = first_of(error) if isinstance(error, BaseExceptionGroup) else error
        return InstrumentError(f"{self.name} cannot be reached: {str(cause) or type(cause).__name__}.")

    async def _hold(self, *, task_status: TaskStatus[_Held]) -> None:
        """Keeps the client open in the task that opened it; how it breaks is seen by whoever calls."""
        held: _Held | None = None
        try:
            async with self._client() as client:
                held = _Held(client)
                task_status.started(held)
                await held.let_go.wait()
        except Exception:
            if held is None:
                raise
            self._drop(held)

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[Client]:
        settings = self._settings
        if settings.run is None:
            assert settings.url is not None
            headers = {name: self._secrets[variable] for name, variable in settings.headers_from.items()}
            limits = httpx2.Timeout(CONNECT_S, read=None)  # an open stream says nothing for as long as it likes
            async with (
                open_client(
                    httpx2.AsyncClient, server=settings.url, trust_env=True, headers=headers, timeout=limits
                ) as http,
                Client(streamable_http_client(settings.url, http_client=http)) as client,
            ):
                yield client
            return
        command, *arguments = settings.run
        given = {name: self._secrets[name] for name in settings.env}
        program = StdioServerParameters(command=command, args=arguments, env=given, cwd=settings.folder)
        with _log(settings.log) as log:
            async with Client(stdio_client(program, errlog=log)) as client:
                yield client


def _log(path: str | None) -> TextIO:
    """Returns where the program's stderr goes: the agent's own is JSON lines."""
    return Path(path or os.devnull).open("a", encoding="utf-8")
