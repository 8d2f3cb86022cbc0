"""Starts the Python interpreter of snippets in a process that can open nothing but the program and its libraries."""

from __future__ import annotations

import os
import sys

from minions_evals_mcp.sandbox.confine import confine

PROCESS_MEMORY = 2 << 30
OPEN_FILES = 64
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")


def main() -> None:
    """Becomes the program that the arguments name."""
    program = sys.argv[1]
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    confine(memory_bytes=PROCESS_MEMORY, open_files=OPEN_FILES, programs=(program, *_LIBRARIES))
    os.execv(program, sys.argv[1:])  # noqa: S606  the interpreter that we ship with, no shell
