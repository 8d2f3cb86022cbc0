"""The README's table of tools, made from the catalogue: python -m tests.server.readme writes it into README.md."""

from __future__ import annotations

import re
from pathlib import Path

from minions_evals_mcp.server.catalogue import CATALOGUE, Entry

README = Path(__file__).resolve().parents[2] / "README.md"
TABLE = re.compile(r"\| tool \| what it does \|.*?\n(?!\|)", re.DOTALL)


def table() -> str:
    """A row for each tool, with the first sentence of what a model reads of it."""
    rows = [f"| `{name}` | {_does(entry)} |" for name, entry in CATALOGUE.items()]
    return "\n".join(["| tool | what it does |", "|---|---|", *rows, ""])


def _does(entry: Entry) -> str:
    return entry.description.partition("\n")[0] + ("" if entry.writes else " *Reads only.*")


def main() -> None:
    """Puts the table where the old one stood."""
    README.write_text(TABLE.sub(lambda _: table(), README.read_text("utf-8"), count=1), "utf-8")


if __name__ == "__main__":
    main()
