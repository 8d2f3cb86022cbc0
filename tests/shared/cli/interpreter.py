"""Python itself, as a program that a standby forks: a script of a user's runs without a second of imports before it."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import mcp.client.stdio  # pyright: ignore[reportUnusedImport]  what scripts of agents and servers import
import mcp.server.stdio  # noqa: F401  # pyright: ignore[reportUnusedImport]  as above


def main() -> None:
    """Runs the script, with `-m` the module or with `-u -c` the code, as the interpreter does that was given the same arguments."""
    if sys.argv[1:3] == ["-u", "-c"]:
        exec(sys.argv[3], {"__name__": "__main__"})  # noqa: S102  what an interpreter is for
        return
    as_module = sys.argv[1] == "-m"
    sys.argv = sys.argv[2 if as_module else 1 :]
    folder = Path.cwd() if as_module else Path(sys.argv[0]).resolve().parent
    sys.path[0] = str(folder)
    shadowed = {file.stem for file in folder.glob("*.py")}  # the user's own, of whatever name
    for name in [name for name in sys.modules if name.partition(".")[0] in shadowed]:
        del sys.modules[name]
    if as_module:
        sys.modules.pop(sys.argv[0], None)  # a test may have imported it
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
