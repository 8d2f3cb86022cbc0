"""The words of a command to people."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from shutil import get_terminal_size

from minions_evals_mcp.report.named_store import in_store, named_store
from minions_evals_mcp.report.plain import hanging

UNDER_WAY: list[str] = []
"""The key of the run that this command is carrying out, under which it goes on once it was interrupted."""


def tell(text: str, *, aside: bool = False) -> None:
    """Writes lines to stdout, or aside to stderr; at a terminal they are folded between words at its width."""
    stream = sys.stderr if aside else sys.stdout
    stream.write(_folded(text) if stream.isatty() else text)


def as_typed(text: str) -> str:
    """Words of ours about commands, which stand in them as they are typed next: with the store that this command line names."""
    return in_store(text, named_store(sys.argv[1:]))


def going_on(arguments: Sequence[str]) -> str:
    """How an interrupted command goes on: the command itself, under the key of the run that it began."""
    has_key = any(word == "--key" or word.startswith("--key=") for word in arguments)
    if has_key or not UNDER_WAY:
        how = "" if has_key else " with --key (`minions-evals runs latest` tells it)"
        return as_typed(f"the same command{how} goes on.")
    return f"it goes on with: minions-evals {shlex.join([*arguments, '--key', UNDER_WAY[-1]])}"


def _folded(text: str) -> str:
    width = get_terminal_size().columns
    return "\n".join(hanging(line, width) if len(line) > width else line for line in text.split("\n"))
