"""The answer to a config: in the terminal a matrix, or a list where its columns would be too narrow; for a program; as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.engine.config_eval.matrix import JUDGED, Cell, ConfigTestRow, Matrix
from minions_evals_mcp.report.matrix.cells import (
    NAME,
    WHY,
    chosen,
    failed_by,
    figures,
    marked,
    notes,
    reasons,
    row_name,
    scores_told,
    selection,
)
from minions_evals_mcp.report.matrix.verdict import details, headline, next_step
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.rows import csv_row
from minions_evals_mcp.report.screen import console
from minions_evals_mcp.scoring.failures.texts import told_apart

OUTPUT, LEAST = 46, 24
"""The characters that are shown of an output in a matrix, and the least width of a column there."""
UNDER = " " * 6


def show_matrix(
    matrix: Matrix, *, limit: int, verbose: bool = False, store: Path | None = None, place: str = ""
) -> None:
    """The verdict and the next command, at most `limit` tests, each column's figures, what went wrong, and how sure the verdict is;
    `verbose`: with every check's reason.
    """
    out = console()
    out.print(Text(headline(matrix), style="bold"))
    if following := next_step(matrix, store):
        out.print(Text(following), soft_wrap=True)
    out.print()
    by_test = tuple(sorted(matrix.rows, key=lambda row: (row.index, row.trial)))  # the trials of a test together
    matrix = matrix.model_copy(update={"rows": by_test})
    out.print(Text(printable(matrix.title), style="bold"))
    wide = out.width >= NAME + LEAST * len(matrix.columns)
    if wide and not verbose:
        _as_table(out, matrix, limit)
    else:
        _as_list(out, matrix, limit, verbose=verbose)
    for line in notes(matrix, limit):
        out.print(Text(line), soft_wrap=True)
    out.print(Text(f"{matrix.benchmark_id}{place}", style="dim"), soft_wrap=True)
    for line in details(matrix):
        out.print(Text(line))


def _as_table(out: Console, matrix: Matrix, limit: int) -> None:
    table = Table(box=None, padding=(0, 1), header_style="dim", show_lines=False)
    longest = max((len(row_name(row, out.width)) for row in matrix.rows[:limit]), default=NAME)
    name_room = min(max(longest, NAME), out.width // 3)
    room = max(LEAST, (out.width - name_room) // len(matrix.columns) - 2)
    table.add_column("test", max_width=name_room)
    heads = _apart([column.prompt for column in matrix.columns], room)
    for number, column in enumerate(matrix.columns):
        table.add_column(
            Text(f"[{number}] {shortened(heads[column.prompt], room)}\n{shortened(column.provider, room)}")
        )
    for row in matrix.rows[:limit]:
        name = Text(row_name(row, 2 * name_room))  # wrapped: what begins alike is told apart
        for selected in row.selections:
            name.append(f"\n{chosen(selected)}", style="dim")
        outputs = _apart([cell.output or "" for cell in row.cells], max(OUTPUT, room))
        table.add_row(name, *(_stacked(row, cell, outputs, room) for cell in row.cells))
    table.add_row("")
    for name, values in figures(matrix):
        table.add_row(Text(name, style="dim"), *values)
    out.print(table)


def _apart(texts: Sequence[str], room: int) -> dict[str, str]:
    """Each text as it is shown in so much room: where all begin alike, from shortly before they differ."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    return {"": ""} | dict(zip(distinct, told_apart(distinct, room), strict=True))


def _stacked(row: ConfigTestRow, cell: Cell, outputs: Mapping[str, str], room: int) -> Text:
    """A cell: how it came out, its scores, why it failed, then the output."""
    text = marked(cell)
    for line in (scores_told(row, cell), failed_by(cell)):
        if line:
            text.append("\n" + shortened(line, WHY), style="dim")
    return (
        text
        if cell.output is None
        else text.append("\n" + shortened(outputs[cell.output], max(OUTPUT, room)), style="default")
    )


def _as_list(out: Console, matrix: Matrix, limit: int, *, verbose: bool) -> None:
    heads = _apart([column.prompt for column in matrix.columns], out.width - NAME)
    for number, column in enumerate(matrix.columns):
        provider = printable(column.provider, NAME)
        out.print(Text(shortened(f"[{number}] {provider}: {heads[column.prompt]}", out.width), style="dim"))
    for row in matrix.rows[:limit]:
        out.print()
        out.print(
            Text(shortened(", ".join([row_name(row, out.width), *map(chosen, row.selections)]), out.width), "bold")
        )
        outputs = _apart([cell.output or "" for cell in row.cells], out.width - len(UNDER))
        for cell in row.cells:
            _print_cell(out, row, cell, outputs, verbose=verbose)
    out.print()
    rows_shown = figures(matrix)
    table = Table(box=None, padding=(0, 1), header_style="dim")
    for name in ("", *(name for name, _ in rows_shown)):
        table.add_column(name)
    for number in range(len(matrix.columns)):
        table.add_row(f"[{number}]", *(values[number] for _, values in rows_shown))
    out.print(table)


def _print_cell(out: Console, row: ConfigTestRow, cell: Cell, outputs: Mapping[str, str], *, verbose: bool) -> None:
    """A cell on a line of its own, with its scores; under it why it failed, and the output."""
    head = Text(f"  [{cell.column}] ").append_text(marked(cell))
    if line := scores_told(row, cell):
        head.append(f"  {line}", style="dim")
    out.print(head)
    room = out.width - len(UNDER)
    if verbose:
        for score in cell.scores:
            mark = "✓" if score.passed else "✗"
            out.print(
                Text(f"{UNDER}{mark} {score.type} {score.score:.2f}: {printable(score.reason, 2 * WHY)}", style="dim")
            )
    elif why := failed_by(cell):
        out.print(Text(UNDER + shortened(why, room), style="dim"))
    if cell.output:
        out.print(Text(UNDER + shortened(outputs[cell.output], room)))


def matrix_json(matrix: Matrix) -> Json:
    """The matrix as a program reads it; of each cell also `verdict` and `success`."""
    wire: Json = matrix.model_dump(mode="json")
    wire["rows"] = [_row_json(row) for row in matrix.rows]
    return wire


def _row_json(row: ConfigTestRow) -> Json:
    cells: list[JsonValue] = [
        {**cell.model_dump(mode="json"), "verdict": cell.verdict, "success": cell.success} for cell in row.cells
    ]
    return {**row.model_dump(mode="json"), "cells": cells, "verdict": row.verdict, "holds": row.holds}


def matrix_csv(matrix: Matrix) -> str:
    """A line for each test: its variables, then of each column output, success, score and reason, and what was selected."""
    names = list(dict.fromkeys(name for row in matrix.rows for name in row.variables))
    heads = [f"[{number}] {column.provider}: {column.prompt}" for number, column in enumerate(matrix.columns)]
    header = [f"{head} {part}" for head in heads for part in ("output", "success", "score", "reason")]
    lines = [csv_row(["test", "trial", *names, *header, "selected"])]
    return "".join([*lines, *(csv_row(_cells(row, names)) for row in matrix.rows)])


def _cells(row: ConfigTestRow, names: Sequence[str]) -> list[object]:
    variables = [value_text(row.variables[name]) if name in row.variables else None for name in names]
    outputs = [part for cell in row.cells for part in _cell(cell)]
    return [row.title, row.trial, *variables, *outputs, "; ".join(map(selection, row.selections))]


def _cell(cell: Cell) -> tuple[str, bool | None, float | None, str]:
    shown = cell.reason if cell.output is None else cell.output
    return shown, cell.success if cell.verdict in JUDGED else None, cell.score, reasons(cell)
