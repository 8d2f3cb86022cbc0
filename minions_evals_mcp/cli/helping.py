"""How a command's help is told at the width of the terminal: prose flows, an example stays a command to copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # rich comes with the first help that is asked for
    from cyclopts.help import HelpPanel, InlineText
    from rich.console import Console, ConsoleOptions

EXAMPLE = "Example: "
_OPTION = re.compile(r" (?=-{1,2}[a-z]|\| )")
"""Where a shell lets a command go on in the next line, and a reader expects it."""


class Help:
    """Cyclopts' own panels under a description that is not broken where it must not be."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Prints a panel of options, what is said of each in one piece."""
        from cyclopts.help import InlineText  # noqa: PLC0415  it brings rich
        from cyclopts.help.formatters import DefaultFormatter  # noqa: PLC0415  as above
        from rich.text import Text  # noqa: PLC0415  as above

        if panel.format == "command":
            _print_commands(console, panel)
            return
        for entry in panel.entries:
            told = entry.description
            if isinstance(told, InlineText) and isinstance(told.primary_renderable, Text):
                told.primary_renderable.plain = " ".join(told.primary_renderable.plain.split("\n"))
        DefaultFormatter()(console, options, panel)

    def render_usage(self, console: Console, options: ConsoleOptions, usage: object) -> None:
        """Prints the form of the command."""
        from cyclopts.help.formatters import DefaultFormatter  # noqa: PLC0415  as above

        DefaultFormatter().render_usage(console, options, usage)

    def render_description(self, console: Console, options: ConsoleOptions, description: InlineText) -> None:
        """Prints what the command does, and its examples."""
        for line in described(str(getattr(description, "primary_renderable", "")), options.max_width):
            console.print(line, soft_wrap=True, markup=False, highlight=False)
        console.print()


def _print_commands(console: Console, panel: HelpPanel) -> None:
    """A group of commands, a line for each: what is said of one is cut where the terminal ends."""
    if not panel.entries:
        return
    names = [" ".join(entry.names) for entry in panel.entries]
    wide = 14
    console.print(str(panel.title), style="bold", highlight=False, markup=False)
    for name, entry in zip(names, panel.entries, strict=True):
        said = " ".join(str(getattr(entry.description, "primary_renderable", entry.description) or "").split())
        room = console.width - wide - 3
        line = said if len(said) <= room else said[: room - 1].rstrip() + "…"
        console.print(
            f"  {name:<{wide}} {line}", highlight=False, markup=False, no_wrap=True, overflow="ignore", crop=False
        )


def described(text: str, width: int) -> Iterator[str]:
    """The lines of a description: each paragraph filled, each example a command that a shell takes as it stands."""
    for at, paragraph in enumerate(text.strip().split("\n\n")):
        if at:
            yield ""
        prose, *examples = f"\n{paragraph}".split(f"\n{EXAMPLE}")
        yield from wrap(prose.strip(), width, break_long_words=False, break_on_hyphens=False)
        if prose and examples:
            yield ""
        for example in examples:
            yield from _example(example, width)


def _example(command: str, width: int) -> Iterator[str]:
    if len(EXAMPLE) + len(command) <= width:
        yield EXAMPLE + command
        return
    yield EXAMPLE.strip()
    line, *rest = _OPTION.split(command)
    indent = "  "
    for part in rest:
        if len(indent) + len(line) + len(part) + len("  \\") <= width:
            line = f"{line} {part}"
        else:
            yield f"{indent}{line} \\"
            line, indent = part, "    "
    yield indent + line
