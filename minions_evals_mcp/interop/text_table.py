"""The one reader of tables of text (CSV, TSV), whoever asks for them: the same file is read, or refused, alike everywhere.

- UTF-8, with or without a byte order mark. Cells may be 128 MB long and hold line breaks in quotes.
- The separator is a comma; where the first line has none, a semicolon or a tab, as Excel writes them. Excel's line
  `sep=;` names it. A `.tsv` file has tabs.
- White space around a column's name is no part of it. Columns without a name at its end may
  only hold empty cells, as Excel leaves them.
- Lines without any text in their cells are left out. Any other row has as many cells as there are columns.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from minions_evals_mcp.errors import InvalidRecordError, legible
from minions_evals_mcp.frozen_types import frozen_type

LONGEST_CELL = 1 << 27
SEPARATORS = {".csv": "", ".tsv": "\t"}
"""The suffixes of tables of text, with the separator where the suffix says it."""
_QUOTED = re.compile(r'"(?:[^"]|"")*(?:"|$)')
_NAMED = re.compile(r"\ufeff?sep=(.)\s*\Z")


@frozen_type
class TextRow:
    """The cells of one row, by column, and the line that it begins in."""

    line: int
    cells: dict[str, str]


def read_text_table(path: Path, *, trims_left: bool = False) -> Iterator[TextRow]:
    """The rows of a file, with the line breaks of its cells; raises `InvalidRecordError` with file and line while rows are read."""
    separator = SEPARATORS.get(path.suffix.lower(), "")
    with legible(path), path.open(encoding="utf-8-sig", newline="") as lines:
        yield from text_table(lines, str(path), separator, trims_left=trims_left)


def text_table(lines: Iterable[str], where: str, separator: str = "", *, trims_left: bool = False) -> Iterator[TextRow]:
    """The rows in those lines, whose breaks are still in them; the first is the header.

    `trims_left`: white space before a cell is no part of it. So it is where a blank follows each separator of the header.
    """
    csv.field_size_limit(LONGEST_CELL)  # an output of a model is longer than the module's 128 KB
    opened = _opened(iter(lines), separator)
    skipped = opened.skipped
    reader = csv.reader(
        opened.lines, strict=True, delimiter=opened.separator, skipinitialspace=trims_left or opened.is_spaced
    )
    first = 1 + skipped
    try:
        names = _names(next(reader, list[str]()), f"{where}:{first}")
        first = reader.line_num + skipped + 1
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield TextRow(first, _row(names, cells, f"{where}:{first}"))
            first = reader.line_num + skipped + 1
    except csv.Error as error:
        raise InvalidRecordError(f"no table: {error}", where=f"{where}:{first}") from None


class _Opened(NamedTuple):
    """The lines from the header on, how many came before, what separates cells, and whether blanks follow that."""

    lines: Iterator[str]
    skipped: int
    separator: str
    is_spaced: bool


def _opened(lines: Iterator[str], separator: str) -> _Opened:
    head, skipped = next(lines, ""), 0
    if named := _NAMED.match(head):
        head, separator, skipped = next(lines, ""), named[1], 1
    plain = _QUOTED.sub("", head)
    separator = separator or next((mark for mark in ",;\t" if mark in plain), ",")
    parts = plain.split(separator)[1:]
    is_spaced = bool(parts) and separator != "\t" and all(part.startswith(" ") for part in parts)
    return _Opened(chain([head] if head else [], lines), skipped, separator, is_spaced)


def _names(header: list[str], where: str) -> list[str]:
    names = [name.strip() for name in header]
    while len(names) > 1 and not names[-1] and any(names):
        names.pop()
    twice = [name for name, number in Counter(names).items() if number > 1]
    if not names or twice or "" in names:
        problem = (
            "is empty"
            if not names
            else f"duplicate column {twice[0]!r}"
            if twice and twice[0]
            else "a column has no name"
        )
        raise InvalidRecordError(problem, where=where)
    return [name.strip() for name in header]


def _row(names: list[str], cells: list[str], where: str) -> dict[str, str]:
    if len(cells) != len(names):
        raise InvalidRecordError(f"{len(cells)} cells under {len(names)} columns", where=where)
    unnamed = next((cell for name, cell in zip(names, cells, strict=True) if not name and cell.strip()), None)
    if unnamed is not None:
        raise InvalidRecordError(f"the cell {unnamed[:40]!r} is in a column without a name", where=where)
    return {name: cell for name, cell in zip(names, cells, strict=True) if name}
