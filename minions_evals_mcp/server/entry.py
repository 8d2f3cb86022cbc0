"""The server's entry point: even what breaks while its modules are imported is told in one line."""

from __future__ import annotations

import sys

from minions_evals_mcp.crashes import reported


def server() -> None:
    """`minions-evals-mcp`."""
    with reported("minions-evals-mcp"):
        _vet_library()
        from minions_evals_mcp.server.app import main  # noqa: PLC0415  inside, so that it is told if it cannot be imported

        main()


def _vet_library() -> None:
    """Ends with 2 where the MCP library is older than what the server is written for."""
    from minions_evals_mcp.mcp_version import REMEDY, mcp_problem  # noqa: PLC0415  inside, as above

    if problem := mcp_problem():
        sys.stderr.write(f"minions-evals-mcp: {problem} {REMEDY}\n")
        sys.exit(2)
