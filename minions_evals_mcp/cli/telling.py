"""The words of a command to people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from minions_evals_mcp.errors import EvalsError, InstrumentError, StoppedError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.presentation.next_steps import Terminal, in_terms, wire_in_terms
from minions_evals_mcp.report.named_store import in_store, named_store
from minions_evals_mcp.report.plain import hanging, harmless

if TYPE_CHECKING:
    from pydantic import JsonValue  # for annotations alone

UNDER_WAY: list[str] = []
"""The key of the run that this command is carrying out, under which it goes on once it was interrupted."""


def tell(text: str, *, aside: bool = False) -> None:
    """Writes lines to stdout, or aside to stderr; at a terminal they are folded between words at its width."""
    text = harmless(rendered(text))
    stream = sys.stderr if aside else sys.stdout
    stream.write(_folded(text) if stream.isatty() else text)


def as_typed(text: str) -> str:
    """Words of ours about commands, which stand in them as they are typed next: with the store that this command line names."""
    return in_store(text, named_store(sys.argv[1:]))


def rendered(text: str) -> str:
    """The text with its next steps as commands and its arguments as options."""
    return in_terms(text, Terminal(named_store(sys.argv[1:])))


def wire_rendered(answer: JsonValue) -> JsonValue:
    """The JSON value with every next step in it as a command."""
    return wire_in_terms(answer, Terminal(named_store(sys.argv[1:])))


def error_rendered(error: EvalsError) -> tuple[str, str]:
    """Message and remedy; a run that stopped is resumed by the command line that began it."""
    is_stopped = bool(UNDER_WAY) and isinstance(error, StoppedError | InstrumentError)
    terms = Terminal(named_store(sys.argv[1:]), tuple(sys.argv[1:]) if is_stopped else ())
    return in_terms(error.message_text, terms), as_typed(
        in_terms(error.remedy_text, terms) if is_stopped else error.remedy_text
    )


def command_of(step: Next) -> str:
    """The step's command, with the store that this command line names."""
    return Terminal(named_store(sys.argv[1:])).call(step)


def going_on(arguments: Sequence[str]) -> str:
    """How an interrupted command goes on: the command itself, under the key of the run that it began."""
    has_key = any(word == "--key" or word.startswith("--key=") for word in arguments)
    if has_key or not UNDER_WAY:
        how = "" if has_key else " with --key (`minions-evals runs latest` shows it)"
        return as_typed(f"The same command{how} resumes the run.")
    step = Next("run", {"key": UNDER_WAY[-1]})
    return f"Resume with: {Terminal(typed=tuple(arguments)).call(step)}"


def _folded(text: str) -> str:
    width = get_terminal_size().columns
    return "\n".join(hanging(line, width) if len(line) > width else line for line in text.split("\n"))
