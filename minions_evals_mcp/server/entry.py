"""The server's entry point: even what breaks while its modules are imported is told in one line."""

from __future__ import annotations

from minions_evals_mcp.crashes import reported


def server() -> None:
    """`minions-evals-mcp`."""
    with reported("minions-evals-mcp"):
        from minions_evals_mcp.server.app import main  # noqa: PLC0415  inside, so that it is told if it cannot be imported

        main()
