"""Serves one server of a unit's world over stdio: `python -m minions_evals_mcp.world FOLDER SERVER`, as agents start it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.world.serving import serve
from minions_evals_mcp.world.sessions import WorldSession


def main() -> None:
    """Serves until the agent closes its end."""
    folder, name = sys.argv[1:]
    clock = partial(datetime.now, UTC)  # noqa: TID251  the composition root of this process
    try:
        anyio.run(partial(serve, WorldSession(Path(folder), clock=clock), name))
    except EvalsError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
