"""Files of a folder through the first command that a user would try: `python -m tests.corpus FOLDER`.

Prints of each file the command's outcome, what was read of it, and what was not. Each file gets a store of its own, which goes
again; nothing is asked of a model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

CONFIGS = ("promptfooconfig",)
ROWS = frozenset({".csv", ".tsv"})
NOTES = ("Created a new store", "Removed the empty store")
LIMIT_S = 120


class Outcome(NamedTuple):
    """What came of a file: the command's status, and in words what it read, or why it did not."""

    status: str
    words: list[str]


def command(file: Path) -> list[str]:
    """The first command that a user would try, without the store."""
    if file.stem.startswith(CONFIGS):
        return ["audit", str(file)]
    rows = ["--as", "test-case"] if file.suffix.lower() in ROWS else []
    return ["import", str(file), *rows]


def tried(file: Path) -> Outcome:
    """The outcome of that command."""
    with TemporaryDirectory() as folder:
        asked = [sys.executable, "-m", "minions_evals_mcp.cli", *command(file), "--json", "--db", f"{folder}/corpus.db"]
        try:
            ended = subprocess.run(asked, capture_output=True, text=True, timeout=LIMIT_S, check=False, cwd=folder)
        except subprocess.TimeoutExpired:
            return Outcome("slow", [f"took more than {LIMIT_S} s"])
    if ended.returncode:
        told = [
            line for line in (ended.stdout + ended.stderr).splitlines() if line.strip() and not line.startswith(NOTES)
        ]
        return Outcome(f"exit {ended.returncode}", told[:3])
    return Outcome("read", [_summary(row) for row in _rows(ended.stdout)])


def _rows(text: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [cast("dict[str, Any]", line) for line in lines if isinstance(line, dict)]


def _summary(row: dict[str, Any]) -> str:
    """What was read, in a line."""
    if "format" not in row:
        return ", ".join(f"{key} {row[key]}" for key in ("new", "changed", "unchanged") if key in row) or "audited"
    parts = [f"{row['format']}: {row['samples']} samples, {row['outputs']} outputs, {row['errors']} errors"]
    names = {
        "foreignScores": "scores",
        "checks": "checks",
        "unreadChecks": "unread",
        "skipped": "left out",
        "keptBeside": "kept",
    }
    parts += [f"{name}: {', '.join(map(str, row[key]))}" for key, name in names.items() if row.get(key)]
    return "; ".join(parts)


def main(folder: Path) -> None:
    """Prints each file's outcome, then how many ended how."""
    counts: Counter[str] = Counter()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".git")):
        outcome = tried(file)
        counts[outcome.status] += 1
        sys.stdout.write(f"{outcome.status:8} {file.relative_to(folder)}\n")
        sys.stdout.writelines(f"         {line[:400]}\n" for line in outcome.words)
    sys.stdout.write(", ".join(f"{number} {status}" for status, number in counts.most_common()) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
