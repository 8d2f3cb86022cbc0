"""The matrix as Markdown that fits a pull-request comment: the verdict, each column's figures, every test, and what failed."""

from __future__ import annotations

from collections.abc import Iterator

from minions_evals_mcp.engine.config_eval.matrix import Cell, CellVerdict, ConfigTestRow, Matrix
from minions_evals_mcp.report.markdown import CLOSING, FITS, as_block, as_code, inert
from minions_evals_mcp.report.matrix.cells import chosen, failed_by, figures, row_name
from minions_evals_mcp.report.matrix.verdict import verdict
from minions_evals_mcp.report.plain import printable

NAME, WHY = 80, 160


def matrix_markdown(matrix: Matrix) -> str:
    """The document. Tests that do not fit are counted at its end."""
    head = [
        f"## {inert(printable(matrix.title, 200))}\n",
        *(f"{inert(line)}\n" for line in verdict(matrix)),
        *_columns(matrix),
    ]
    pieces = ["\n".join(head) + "\n"]
    room = FITS - CLOSING - len(pieces[0])
    left_out = 0
    table = [_line(["test", *(f"[{number}]" for number in range(len(matrix.columns)))]), _rule(1 + len(matrix.columns))]
    for line in (*table, *(_row(row) for row in matrix.rows)):
        if len(line) > room:
            left_out += 1
            continue
        room -= len(line)
        pieces.append(line)
    pieces.append("\n")
    for detail in _details(matrix):
        if len(detail) > room:
            left_out += 1
            continue
        room -= len(detail)
        pieces.append(detail)
    if left_out:
        pieces.append(f"\n{left_out} parts did not fit. An `.html` file has all of them.\n")
    return "".join(pieces)


def _columns(matrix: Matrix) -> Iterator[str]:
    names = [name for name, _ in figures(matrix)]
    yield _line(["column", *names]).rstrip()
    yield _rule(1 + len(names)).rstrip()
    values = [shown for _, shown in figures(matrix)]
    for number, column in enumerate(matrix.columns):
        name = f"[{number}] {column.provider}: {column.prompt}"
        yield _line([inert(printable(name, NAME)), *(inert(shown[number]) for shown in values)]).rstrip()
    yield ""


def _row(row: ConfigTestRow) -> str:
    name = inert(", ".join([row_name(row, NAME), *map(chosen, row.selections)]))
    return _line([name, *(_cell(cell) for cell in row.cells)])


def _cell(cell: Cell) -> str:
    if not cell.asked:
        return "not asked"
    score = "" if cell.score is None else f" {cell.score:.2f}"
    why = failed_by(cell)
    return f"{_mark(cell)}{score}" + (f" {inert(printable(why, WHY))}" if why else "")


def _mark(cell: Cell) -> str:
    marks: dict[CellVerdict, str] = {
        "passed": "✅",
        "failed": "❌",
        "error": "⚠️ error",
        "open": "waits",
        "not-asked": "not asked",
    }
    return marks[cell.verdict]


def _details(matrix: Matrix) -> Iterator[str]:
    """Each output that failed, with its reasons."""
    for row in matrix.rows:
        for cell in row.cells:
            if cell.verdict not in {"failed", "error"}:
                continue
            reasons = "\n".join(f"{score.type}: {score.reason}" for score in cell.scores if not score.passed)
            text = "\n\n".join(part for part in (reasons or cell.reason, cell.output or "") if part)
            name = f"{row_name(row, NAME)} [{cell.column}]"
            yield f"\n<details><summary>{as_code(name)}</summary>\n{as_block(text)}\n</details>\n"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _rule(columns: int) -> str:
    return f"|{' --- |' * columns}\n"
