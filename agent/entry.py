"""The agent's entry point: even what breaks while its modules are imported is told in one line."""

from __future__ import annotations

from minions_evals_mcp.crashes import reported


def agent() -> None:
    """`minions-eval-agent`."""
    with reported("minions-eval-agent"):
        from agent.__main__ import main  # noqa: PLC0415  inside, so that it is told if it cannot be imported

        main()
