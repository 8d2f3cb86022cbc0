"""The terminal, or a pipe: where an answer is printed, and how a line of it is broken."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from minions_evals_mcp.report.plain import hanging

LONGEST, WIDEST, WHY = 60, 110, 90
"""A table is no wider, its reasons no longer: a person reads lines, not a screen's width."""


def console() -> Console:
    """The terminal, or a pipe that gets plain text."""
    return Console(highlight=False, soft_wrap=False)


def on_screen(line: str, out: Console) -> str:
    """The line as a terminal shows it: broken between words, the rest under its beginning; whole for a pipe."""
    return hanging(line, out.width) if out.is_terminal else line


def whole(line: str, style: str = "") -> Text:
    """A line with an id, which is never broken: in two parts it cannot be copied."""
    return Text(line, style=style, no_wrap=True, overflow="ignore")
