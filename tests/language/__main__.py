"""Prints the figures of every hand-written page and of the help: `python -m tests.language`."""

from __future__ import annotations

import sys

from tests.language.measures import MAX_ODD, MIN_YOU, figures
from tests.language.surfaces import help_parts, pages

ADDRESSED = ("tutorials/", "how-to/", "get-started", "README")


def say(line: str) -> None:
    """Prints a line."""
    sys.stdout.write(line + "\n")


def main() -> None:
    """Prints a line for each page; a star marks what a limit or a guide value does not allow."""
    say(f"{'page':48} {'words':>6} {'p90':>5} {'; /1000':>8} {'you':>6} {'stands/tells/says':>18}")
    for name, text in pages().items():
        found = figures(text)
        guided = name.startswith(ADDRESSED)
        marks = [*found.faults(), *(["few you"] if guided and found.you < MIN_YOU else [])]
        marks += ["stands/tells/says"] if guided and found.odd > MAX_ODD else []
        shares = f"{found.semicolons:8.1f} {found.you:6.1f} {found.odd:18.1f}"
        say(f"{name:48} {found.words:6} {found.paragraph:5} {shares}{'  * ' + ', '.join(marks) if marks else ''}")
    parts = help_parts()
    found = figures("\n\n".join(parts), parts)
    say(f"{'--help':48} {found.words:6} {found.paragraph:5} {found.semicolons:8.1f}  {', '.join(found.faults())}")


if __name__ == "__main__":
    main()
