"""Follows a page from an empty folder; as a program, puts what was printed into its empty output blocks."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.language.blocks import ANY, Block, blocks, parted, script
from tests.language.surfaces import DOCS
from tests.shared.cli.installed import installed
from tests.shared.cli.terminal import ROOT, Terminal, inherited

MAX_LINES = 14


def carried_out(text: str, folder: Path) -> dict[int, str]:
    """What each step of a page prints, by the number of its block."""
    steps = [block for block in blocks(text) if block.is_run]
    with installed() as programs:
        place = Terminal(folder).with_env(PATH=f"{programs}:{inherited()['PATH']}")
        ended = place.carried_out(["sh", "-c", script(steps)])
    assert ended.code == 0, (ended.out[-1500:], ended.err[-1500:])
    return parted(ended.out, steps)


def filled(text: str, printed: dict[int, str]) -> str:
    """The page with its empty output blocks filled."""
    edits: list[tuple[tuple[int, int], str]] = []
    before: Block | None = None
    for block in blocks(text):
        if block.is_output and not block.code.strip() and before is not None:
            lines = [line.rstrip() for line in printed[before.number].strip("\n").split("\n")]
            shown = [*lines[:MAX_LINES], ANY] if len(lines) > MAX_LINES + 2 else lines
            edits.append((block.span, "\n".join(shown) + "\n"))
        before = block if block.is_run else before
    for (start, end), new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text


def main(names: list[str]) -> None:
    """Fills the pages of those names, such as how-to/audit-checks."""
    for name in names:
        path = ROOT / "README.md" if name == "README" else DOCS / f"{name}.md"
        with TemporaryDirectory() as folder:
            try:
                path.write_text(
                    filled(path.read_text("utf-8"), carried_out(path.read_text("utf-8"), Path(folder))), "utf-8"
                )
            except AssertionError as error:
                sys.stdout.write(f"{name}: {error}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
