"""The MCP library that the server and the lines to other servers need; everything else works without it, or with an older one."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from minions_evals_mcp.errors import BadInputError

LEAST = (2, 3)
REMEDY = "Install it with: pip install -U 'minions-evals-mcp[server]'"


def mcp_problem() -> str:
    """What is wrong with the installed `mcp`, in words; empty where it is new enough."""
    needed = f"mcp {LEAST[0]}.{LEAST[1]} or newer"
    try:
        installed = version("mcp")
    except PackageNotFoundError:
        return f"MCP needs the package {needed}, which is not installed."
    found = re.match(r"(\d+)\.(\d+)", installed)
    if found is not None and (int(found[1]), int(found[2])) < LEAST:
        return f"MCP needs the package {needed}; installed is mcp {installed}."
    return ""


def vet_mcp() -> None:
    """Raises `BadInputError` where the installed `mcp` is too old, or missing."""
    if problem := mcp_problem():
        raise BadInputError(problem, remedy=REMEDY)
