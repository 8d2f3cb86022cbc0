"""The command line's entry point: even what breaks while its modules are imported is told in one line."""

from __future__ import annotations

import gc
import sys
from types import ModuleType

from minions_evals_mcp.crashes import reported

ROUND = 1_000_000
"""So many objects more, and it is looked for garbage in circles: little of a command's is, the imports alone make 180 looks, and one
among the ten thousand cases that a run holds takes 80 ms."""


def evals() -> None:
    """`minions-evals`."""
    gc.set_threshold(ROUND, 10, 10)
    try:
        _evals()
    finally:
        gc.freeze()  # else the interpreter looks through all that is left before it ends: a twentieth of a long command


def _evals() -> None:
    with reported("minions-evals"):
        if sys.argv[1:] in ([], ["--help"], ["-h"]):
            from minions_evals_mcp.cli.helping import first_help  # noqa: PLC0415  as below

            first_help()
            return
        if not {"--help", "-h"} & {*sys.argv}:
            _look_for_no_plugins()
        from minions_evals_mcp.cli.app import main  # noqa: PLC0415  inside, so that it is told if it cannot be imported

        main()


def _look_for_no_plugins() -> None:
    """Spares pydantic's look through every installed distribution for plugins of its own, and the import of what looks.

    15 ms each, before the first value is made. Not by its environment variable, which the user's programs would inherit.
    """
    loader = ModuleType("pydantic.plugin._loader")
    vars(loader)["get_plugins"] = tuple
    sys.modules[loader.__name__] = loader
