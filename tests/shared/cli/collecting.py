"""A process that collects the tests and forks xdist's workers: what they would each import is imported once.

pytest comes first: what is imported before it, its assertions would not be explained.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

if __name__ == "__main__":
    gc.disable()
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        pytest.main([*sys.argv[1:], "--collect-only", "-q", "-n0"])
    standby = import_module("tests.shared.cli.standby")
    standby.gathered()
    gc.freeze()
    gc.enable()
    standby.main()
