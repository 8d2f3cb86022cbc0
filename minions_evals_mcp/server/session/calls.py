"""One call of a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from minions_evals_mcp.operations.engine import Engine
    from minions_evals_mcp.server.session.background_runs import Runs


@dataclass(frozen=True, slots=True)
class Call:
    """The parts that a tool's function works with: the engine, the runs in the background, the operator's target, and who waits.

    `context` is the host's request, where it is one that the host may be asked something within.
    """

    engine: Engine
    runs: Runs
    target: str | None
    report_progress: Callable[[float, float | None, str | None], Awaitable[None]]
    context: Context[Any, Any] | None = None
