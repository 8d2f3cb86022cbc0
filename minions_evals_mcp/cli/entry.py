"""Where the command line begins: even what breaks while its modules are imported is told in one line."""

from __future__ import annotations

from minions_evals_mcp.crashes import reported


def evals() -> None:
    """`minions-evals`."""
    with reported("minions-evals"):
        from minions_evals_mcp.cli.app import main  # noqa: PLC0415  inside, so that it is told if it cannot be imported

        main()
