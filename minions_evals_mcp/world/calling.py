"""A world's real servers for a Python task that waits for each answer: they run in a thread of their own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyio.from_thread import BlockingPortal, start_blocking_portal

from minions_evals_mcp.domain.values import Json, known_names
from minions_evals_mcp.world.calls import CallAnswer, ToolError
from minions_evals_mcp.world.sessions import WorldSession

if TYPE_CHECKING:
    from minions_evals_mcp.world.reaching import WorldTools


@dataclass(slots=True)
class CalledServers:
    """The servers of one unit's world, started at the first call. Several threads may call."""

    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _opened: ExitStack = field(default_factory=ExitStack, init=False)
    _running: tuple[BlockingPortal, WorldTools] | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    def call(self, session: WorldSession, tool: str, arguments: Json) -> CallAnswer:
        """The answer of the one server that has the tool; raises `ToolError` where none or several have it."""
        portal, tools = self._started(session)
        having = [offered for offered in tools.offered if offered.tool == tool]
        if len(having) != 1:
            raise ToolError(_not_one(tool, [one.server for one in having], {one.tool for one in tools.offered}))
        return portal.call(tools.answered, having[0], arguments)

    def close(self) -> None:
        """Ends the servers that were started. A thread that outlives its unit starts none again."""
        with self._lock:
            self._running, self._closed = None, True
            self._opened.close()

    def _started(self, session: WorldSession) -> tuple[BlockingPortal, WorldTools]:
        from minions_evals_mcp.world.reaching import tools_for_model  # noqa: PLC0415  the protocol, for real servers only

        with self._lock:
            if self._closed:
                raise ToolError("the unit of this world is over")
            if self._running is None:
                portal = self._opened.enter_context(start_blocking_portal())
                tools = self._opened.enter_context(portal.wrap_async_context_manager(tools_for_model(session)))
                self._running = portal, tools
            return self._running


def _not_one(tool: str, servers: Sequence[str], known: set[str]) -> str:
    if servers:
        return f"several servers have a tool {tool}: {', '.join(servers)}. They are told apart over MCP, by world.mcp_config."
    return f"no server has a tool {tool}. {known_names(tool, sorted(known), are='The tools are')}"
