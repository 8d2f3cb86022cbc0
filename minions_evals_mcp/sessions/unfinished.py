"""Agent-runs that are not over: what was read ends before the agent answered, so there is nothing to judge yet."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj


def is_unfinished(wire: Json) -> bool:
    """Whether the agent-run on the wire is under way, as far as what was read says."""
    return obj(wire.get("fields")).get("status") == "running"
