"""A command's help at the width of the terminal: prose flows, an example stays a command to copy."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Iterator
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING

from minions_evals_mcp.cli.commands import ABOUT, COMMANDS, NOUNS, SHOWN

if TYPE_CHECKING:  # rich comes with the first help that is asked for
    from cyclopts.help import HelpPanel, InlineText
    from rich.console import Console, ConsoleOptions

EXAMPLE = "Example: "
_OPTION = re.compile(r" (?=-{1,2}[a-z]|\| )")
"""Where a shell lets a command go on in the next line, and a reader expects it."""


_BOLD = "\x1b[1m{}\x1b[0m"


def first_help() -> None:
    """Prints what the program is and the commands that it shows, without waiting for what reads a command line."""
    told_whole()
    width, title = get_terminal_size().columns, _BOLD if sys.stdout.isatty() else "{}"
    lines = ["Usage: minions-evals COMMAND", "", *described(ABOUT, width), ""]
    for group, names in SHOWN.items():
        lines.append(title.format(group))
        lines += _lines(((name, (NOUNS[name][0] if name in NOUNS else COMMANDS[name][1])) for name in names), width)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def told_whole() -> None:
    """Lets both streams write every text, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


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
            description = entry.description
            if isinstance(description, InlineText) and isinstance(description.primary_renderable, Text):
                description.primary_renderable.plain = " ".join(description.primary_renderable.plain.split("\n"))
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
    console.print(str(panel.title), style="bold", highlight=False, markup=False)
    entries = [
        (" ".join(entry.names), str(getattr(entry.description, "primary_renderable", entry.description) or ""))
        for entry in panel.entries
    ]
    for line in _lines(entries, console.width):
        console.print(line, highlight=False, markup=False, no_wrap=True, overflow="ignore", crop=False)


def _lines(commands: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """A line for each command: what is said of it is cut where the terminal ends."""
    listed = [*commands]
    wide = max(14, *(len(name) for name, _ in listed))
    room = width - wide - 3
    for name, text in listed:
        summary = " ".join(text.split())
        yield f"  {name:<{wide}} {summary if len(summary) <= room else summary[: room - 1].rstrip() + '…'}"


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
