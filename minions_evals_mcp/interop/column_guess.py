"""Suggests the command that imports rows as test cases, by the names of their columns or keys."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from minions_evals_mcp.domain.values import ID_PATTERN, first_named
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.interop.text_table import read_text_table
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.next_steps import Value as NextValue

INPUTS = ("input", "question", "prompt", "query", "message", "user_input", "text", "request", "task")
EXPECTED = (
    "expected", "expected_output", "expectedoutput", "expected_answer", "answer", "reference", "ground_truth", "ideal", "output", "target",
    "label",
)  # fmt: skip
"""What columns are called that hold an input, and what is expected, the surest first."""
SHOWN = 12
ROWS: dict[str, NextValue] = {
    "file": "FILE", "as_": "test-case", "map": ["inputs.input=COLUMN", "expectedOutputs.output=COLUMN"],
}  # fmt: skip
"""The command for a file whose columns are not known."""


def table_refused(table: Path) -> BadInputError:
    """The error for a table where nobody said what its rows are, with the command that imports them."""
    return BadInputError(f"{table} is a table. Name the record type of its rows.", remedy=how_to_import(table))


def how_to_import(table: Path) -> str:
    """The remedy for a table of which nobody said what its rows are."""
    columns = _columns(table)
    if suggested := suggested_import(table, columns):
        return f"{suggested} Columns: {first_named(columns, SHOWN)}."
    named = f" by one of {first_named(columns, SHOWN)}" if columns else " by a column of the file"
    return f"{Next('import', ROWS | {'file': str(table)}, 'imports them as test cases')}. Replace each COLUMN{named}."


def suggested_import(file: Path, columns: list[str]) -> str:
    """The command that imports rows of those columns or keys; empty where their names say too little."""
    given = _column(columns, INPUTS)
    expected = _column([name for name in columns if name != given], EXPECTED)
    if given is None or expected is None:
        return ""
    maps = [f"inputs.{given.replace(' ', '_')}={given}", f"expectedOutputs.output={expected}"]
    maps += ["id=id"] if "id" in columns else []
    into: dict[str, NextValue] = {"into": file.stem} if re.fullmatch(ID_PATTERN, file.stem) else {}
    step = Next("import", {"file": str(file), "as_": "test-case", "map": [*maps], **into}, "imports them as test cases")
    return f"{step}, if {given} is the input and {expected} is what you expect."


def _columns(table: Path) -> list[str]:
    """The names of the columns; empty where the file has no rows or cannot be read so far."""
    with suppress(EvalsError):
        row = next(read_text_table(table), None)
        return [] if row is None else [*row.cells]
    return []


def _column(columns: list[str], names: tuple[str, ...]) -> str | None:
    """The column that is called by the surest of these names, however it is written."""
    written = {re.sub(r"[ -]", "_", name.lower()): name for name in reversed(columns) if re.fullmatch(r"[\w -]+", name)}
    return next((written[name] for name in names if name in written), None)
