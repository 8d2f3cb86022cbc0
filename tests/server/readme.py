"""The table of tools in docs/reference/mcp-server.md, made from the catalogue: python -m tests.server.readme writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from minions_evals_mcp.server.catalogue import CATALOGUE, ToolEntry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "mcp-server.md"
TABLE = re.compile(r"\| tool \| what it does \|.*?\n(?!\|)", re.DOTALL)


def table() -> str:
    """A row for each tool, with the first sentence of what a model reads of it."""
    rows = [f"| `{name}` | {_does(entry)} |" for name, entry in CATALOGUE.items()]
    return "\n".join(["| tool | what it does |", "|---|---|", *rows, ""])


def _does(entry: ToolEntry) -> str:
    return entry.description.partition("\n")[0] + ("" if entry.writes else " *Reads only.*")


def main() -> None:
    """Puts the table where the old one stood."""
    PAGE.write_text(TABLE.sub(lambda _: table(), PAGE.read_text("utf-8"), count=1), "utf-8")


if __name__ == "__main__":
    main()
