"""Tables no wider than the terminal: what matters least is left out, and said to be; an id is never cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = 2


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column by name. Where there is no room the highest `leave` is left out first; with 0 it always stays."""

    name: str
    cells: Sequence[str]
    leave: int = 0
    right: bool = False

    @property
    def width(self) -> int:
        """Returns what it takes with the space around it."""
        return GAP + max(cell_len(cell) for cell in (self.name, *self.cells))


def show_columns(out: Console, columns: Sequence[TableColumn]) -> None:
    """The table, and the names of the columns for which there was no room."""
    shown = fitting(columns, out.width)
    needed = sum(column.width for column in shown)
    table = Table(box=None, padding=(0, 1), header_style="dim", width=needed if needed > out.width else None)
    for column in shown:
        table.add_column(Text(column.name), justify="right" if column.right else "left", no_wrap=True)
    for row in zip(*(column.cells for column in shown), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    out.print(table, crop=False)
    left_out = ", ".join(column.name for column in columns if column not in shown)
    if left_out:
        out.print(Text(f" hidden columns: {left_out} (--json shows all)", style="dim"), soft_wrap=True)


def fitting(columns: Sequence[TableColumn], width: int) -> list[TableColumn]:
    """The columns for which there is room, and those that always stay."""
    shown = list(columns)
    for column in sorted(columns, key=lambda column: -column.leave):
        if column.leave == 0 or sum(column.width for column in shown) <= width:
            break
        shown.remove(column)
    return shown
