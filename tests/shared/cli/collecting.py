"""A process that collects the tests and forks xdist's workers: what they would each import is imported once.

pytest comes first: what is imported before it, its assertions would not be explained.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import pytest

ASKING = {"tests.shared.cli.terminal", "tests.shared.agent.desk", "tests.acceptance.workplace"}
"""Through these most tests give commands: where none of them is collected, no standby is needed ahead."""


def main() -> None:
    """A worker, and beside it the standby that forks its commands."""
    standby = import_module("tests.shared.cli.standby")
    if ASKING & sys.modules.keys():
        standby.STANDBYS.first = standby.split()
    import_module("tests.shared.cli.interpreter").main()


if __name__ == "__main__":
    gc.disable()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    pytest.main(
        [*sys.argv[1:], "--collect-only", "-q", "-n0", "-s"]
    )  # a module may keep the streams that it was imported with
    standby = import_module("tests.shared.cli.standby")
    if ASKING & sys.modules.keys():
        standby.prepared()
    standby.gathered()
    gc.freeze()
    gc.enable()
    standby.main()
