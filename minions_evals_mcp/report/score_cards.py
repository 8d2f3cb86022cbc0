"""Score cards as a person reads them: a large figure, check and cross marks, and what changed since another card."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from pydantic import JsonValue
from rich.console import Group
from rich.table import Table
from rich.text import Text

from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.screen import console
from minions_evals_mcp.scoring.score_card import BooleanColumn, Counted, NumberColumn, Row, ScoreCard
from minions_evals_mcp.scoring.score_changes import CardChanges, Effect, Figure, FigureChange, MatrixChange
from minions_evals_mcp.scoring.score_matrix import ScoreMatrix, figure_text

GLYPHS = {
    "0": ("┏━┓", "┃ ┃", "┗━┛"),
    "1": (" ╻ ", " ┃ ", " ╹ "),
    "2": ("╺━┓", "┏━┛", "┗━╸"),
    "3": ("╺━┓", " ━┫", "╺━┛"),
    "4": ("╻ ╻", "┗━┫", "  ╹"),
    "5": ("┏━╸", "┗━┓", "╺━┛"),
    "6": ("┏━╸", "┣━┓", "┗━┛"),
    "7": ("╺━┓", "  ┃", "  ╹"),
    "8": ("┏━┓", "┣━┫", "┗━┛"),
    "9": ("┏━┓", "┗━┫", "╺━┛"),
    ".": (" ", " ", "."),
    "-": ("  ", "╺━", "  "),
    "%": ("  ", "  ", " %"),
    " ": ("", "", ""),
}
STYLES: dict[Effect, str] = {"better": "green", "worse": "red", "same": "dim", "incomparable": "dim"}
LONGEST = 60


def show_card(source: str, card: ScoreCard, rows: Sequence[Row]) -> None:
    """A card: the score, the columns behind it, the first rows of those, the matrices."""
    console().print(card_view(source, card, rows))


def show_changes(before: str, after: str, card: ScoreCard, changes: CardChanges) -> None:
    """Two cards side by side; `card` is the later one."""
    console().print(changes_view(before, after, card, changes))


def card_view(source: str, card: ScoreCard, rows: Sequence[Row]) -> Group:
    """Returns what `show_card` prints."""
    figure = _scored(card)
    parts: list[Text | Table] = [Text(f"{printable(source)}  score {figure}", style="bold"), *large(figure)]
    if card.columns:
        parts.append(columns_table(card.columns))
    parts.extend(
        Text(f"left out, neither Booleans nor numbers: {printable(name)}", style="dim") for name in card.left_out
    )
    parts.extend(Text(warning, style="yellow") for warning in card.warnings)
    if rows:
        parts.append(rows_table(card.columns, rows))
    parts.extend(matrix_table(matrix) for matrix in card.score_matrix)
    return Group(*parts)


def _scored(card: ScoreCard) -> str:
    return f"{figure_text(card.score)} %" if card.unit == "percent" else figure_text(card.score)


def large(figure: str) -> list[Text]:
    """The figure three lines high, or nothing where it has characters that have no large form (1e+20)."""
    if not all(digit in GLYPHS for digit in figure):
        return []
    return [Text("  " + " ".join(GLYPHS[digit][line] for digit in figure), style="bold cyan") for line in range(3)]


def columns_table(columns: Sequence[Counted]) -> Table:
    """A line for each column that counts: its figure and what that rests on."""
    table = _grid(header=True)
    for name in ("column", "figure", "of", "empty"):
        table.add_column(Text(name, style="dim"), justify="right" if name in {"figure", "empty"} else "left")
    for column in columns:
        figure, of = _column_line(column)
        table.add_row(
            Text(shortened(column.name, LONGEST)), Text(figure, style="bold"), Text(of), Text(str(column.empty))
        )
    return table


def _column_line(column: Counted) -> tuple[str, str]:
    match column:
        case BooleanColumn():
            return f"{figure_text(column.figure)} %", f"{column.true} of {column.count} true"
        case NumberColumn():
            return figure_text(column.figure), f"mean of {column.count}"
        case _:
            assert_never(column)


def rows_table(columns: Sequence[Counted], rows: Sequence[Row]) -> Table:
    """The first rows, with the table's first column to tell them apart."""
    chosen = [column.name for column in columns]
    label = next(iter(rows[0]), "")
    names = chosen if label in chosen else [label, *chosen]
    table = _grid(header=True)
    for name in names:
        table.add_column(Text(shortened(name, LONGEST), style="dim"), justify="left" if name == label else "right")
    for row in rows:
        table.add_row(*(cell_text(row.get(name)) for name in names))
    return table


def cell_text(cell: JsonValue) -> Text:
    """A cell: a check or a cross, a number that stands out, or text."""
    match cell:
        case None:
            return Text("")
        case bool():
            return Text("✓", style="bold green") if cell else Text("✗", style="bold red")
        case int() | float():
            return Text(figure_text(cell), style="bold")
        case _:
            return Text(shortened(str(cell), LONGEST))


def matrix_table(matrix: ScoreMatrix) -> Table:
    """A score matrix under its title."""
    table = _grid(matrix.title)
    for row in matrix.rows:
        table.add_row(*(cell_text(cell.value) for cell in row))
    return table


def changes_view(before: str, after: str, card: ScoreCard, changes: CardChanges) -> Group:
    """Returns what `show_changes` prints."""
    table = _grid(header=True)
    for name in ("", printable(before, LONGEST), printable(after, LONGEST), "change"):
        table.add_column(Text(name, style="dim"), justify="right" if name else "left")
    percents = {column.name for column in card.columns if isinstance(column, BooleanColumn)}
    alike = changes.score.delta is not None
    table.add_row(*_change_line("score card", changes.score, percent=alike and card.unit == "percent"))
    for name, column in changes.columns.items():
        table.add_row(*_change_line(shortened(name, LONGEST), column, percent=name in percents))
    warnings = [Text(warning, style="yellow") for warning in (*card.warnings, *changes.warnings)]
    return Group(table, *warnings, *(_matrix_change(matrix) for matrix in changes.matrices))


def _change_line(name: str, change: FigureChange, *, percent: bool) -> tuple[Text, Text, Text, Text]:
    title = Text(f"{name}, %" if percent else name, style="bold")
    return title, _figure(change.before), _figure(change.after), change_text(change)


def _matrix_change(matrix: MatrixChange) -> Table:
    """The earlier matrix on the left, the later one with its changes on the right."""
    old, new = _grid(), _grid()
    for row in matrix.rows:
        old.add_row(*(_figure(change.before) for change in row))
        new.add_row(*(_later_cell(change) for change in row))
    both = _grid(matrix.title)
    both.add_row(old, new)
    return both


def _later_cell(change: FigureChange) -> Text:
    """A label that stays says so by itself."""
    figure = _figure(change.after)
    stays = change.effect == "same" and isinstance(change.after, str)
    return figure if stays else Text.assemble(figure, " ", change_text(change))


def change_text(change: FigureChange) -> Text:
    """The change with its sign, and whether it is good."""
    return Text(_change_words(change), style=STYLES[change.effect])


def _change_words(change: FigureChange) -> str:
    match change:
        case FigureChange(before=None):
            return "new"
        case FigureChange(after=None):
            return "gone"
        case FigureChange(effect="same"):
            return "="
        case FigureChange(delta=float(delta)):
            return f"{'▲ +' if delta > 0 else '▼ '}{figure_text(delta)} {change.effect}"
        case _:
            return "changed"


def _figure(figure: Figure | None) -> Text:
    return Text("") if figure is None else Text(printable(figure_text(figure), LONGEST))


def _grid(title: str | None = None, *, header: bool = False) -> Table:
    shown = None if title is None else Text(printable(title), style="bold")
    return Table(title=shown, title_justify="left", show_header=header, box=None, padding=(0, 2, 0, 0), show_edge=False)
