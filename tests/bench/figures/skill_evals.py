"""Whether skills' evals load as they stand: python -m tests.bench.figures.skill_evals FILE…

Give it evals.json files of public skill repositories; none is kept here. Each is counted by this script's own reading beside
the product's: so many evals, so many statements.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.skill_evals import SAYS, SAYS_NOT, read_evals


def counted(path: Path) -> tuple[int, int]:
    """The evals and statements of a file, read without the product."""
    told: list[dict[str, Any]] | dict[str, list[dict[str, Any]]] = json.loads(path.read_text("utf-8-sig"))
    evals = told if isinstance(told, list) else told["evals"]
    return len(evals), sum(len(one.get(name) or []) for one in evals for name in (*SAYS, *SAYS_NOT))


def main(paths: list[Path]) -> bool:
    """Prints a line for each file; whether all were read whole."""
    holds = True
    for path in paths:
        try:
            found = read_evals(path)
            read = len(found.evals), sum(len(one.statements) + len(one.assertions) for one in found.evals)
            fits, said = (
                read == counted(path),
                f"{read[0]} evals, {read[1]} statements of {found.skill or 'no named skill'}",
            )
        except EvalsError as error:
            fits, said = False, str(error)
        holds = holds and fits
        sys.stdout.write(f"{'ok ' if fits else 'NO '} {path.name}: {said}\n")
    return holds


if __name__ == "__main__":
    sys.exit(0 if main([Path(name) for name in sys.argv[1:]]) else 1)
