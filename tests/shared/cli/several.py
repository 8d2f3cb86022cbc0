"""Several commands one after another in one process, for tests that ask many that only read: each still has streams of its own.

Reads a JSON list of command lines, and writes a JSON list of exit code, stdout and stderr.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence

from minions_evals_mcp.cli.app import main as carry_out


def carried_out(arguments: Sequence[str]) -> tuple[int, str, str]:
    """How the command ended and what it wrote, also past Python's own streams."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["minions-evals", *arguments]
        code = 0
        try:
            carry_out()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0
        sys.stdout.flush()
        sys.stderr.flush()
        out.seek(0)
        err.seek(0)
        return code, out.read().decode(), err.read().decode()


def main() -> None:
    """Carries out what stdin lists; a command that breaks ends it, as it would have ended its own process."""
    commands, answer = json.load(sys.stdin), os.dup(1)
    ended = [carried_out(arguments) for arguments in commands]
    with os.fdopen(answer, "w", encoding="utf-8") as told:
        json.dump(ended, told)
