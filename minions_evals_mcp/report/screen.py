"""The terminal, or a pipe: where an answer is printed, and how a line of it is broken."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from minions_evals_mcp.report.plain import hanging, harmless

LONGEST, WIDEST, WHY = 60, 110, 90
"""A table is no wider, its reasons no longer: a person reads lines, not a screen's width."""


class Screen(Console):
    """A console that writes no character by which a terminal acts, whatever it is given: only styles of ours do."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As the library's, each part made harmless."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=harmless(part.text))


def console(**settings: Any) -> Console:
    """The terminal, or a pipe that gets plain text."""
    return Screen(highlight=False, soft_wrap=False, **settings)


def on_screen(line: str, out: Console) -> str:
    """The line as a terminal shows it: broken between words, the rest under its beginning; whole for a pipe."""
    return hanging(line, out.width) if out.is_terminal else line


def whole(line: str, style: str = "") -> Text:
    """A line with an id, which is never broken: in two parts it cannot be copied."""
    return Text(line, style=style, no_wrap=True, overflow="ignore")
