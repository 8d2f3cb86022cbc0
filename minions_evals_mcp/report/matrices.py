"""The answer to a config: a matrix in the terminal, for a program, and as CSV."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue
from rich.table import Table
from rich.text import Text

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.engine.side_by_side import Cell, ColumnFigures, Matrix, Row, Selected
from minions_evals_mcp.report.plain import printable, shortened
from minions_evals_mcp.report.rows import csv_row
from minions_evals_mcp.report.tables import console

OUTPUT, NAME, WHY = 46, 26, 160
UNKNOWN = "–"


def show_matrix(found: Matrix, *, limit: int) -> None:
    """The matrix on stdout: at most `limit` tests, then what each column came to."""
    out = console()
    out.print(Text(printable(found.title), style="bold"))
    table = Table(box=None, padding=(0, 1), header_style="dim", show_lines=False)
    table.add_column("test", max_width=NAME)
    for number, column in enumerate(found.columns):
        table.add_column(Text(f"[{number}] {shortened(column.prompt, NAME)}\n{shortened(column.provider, NAME)}"))
    for row in found.rows[:limit]:
        table.add_row(_name(row), *(_shown(cell) for cell in row.cells))
    table.add_row("")
    for name, told in _closing(found):
        table.add_row(Text(name, style="dim"), *told)
    out.print(table)
    for line in _notes(found, limit):
        out.print(Text(line), soft_wrap=True)


def _name(row: Row) -> Text:
    trial = f" ({row.trial})" if row.trial > 1 else ""
    text = Text(shortened(f"{row.index + 1}. {row.title}{trial}", NAME))
    for one in row.selections:
        text.append(f"\n{_selection(one)}", style="dim")
    return text


def _selection(one: Selected) -> str:
    if one.problem:
        return f"{one.type}: {shortened(one.problem, WHY)}"
    scores = ", ".join(UNKNOWN if score is None else f"{score:.2f}" for score in one.scores)
    chosen = "none" if one.selected is None else f"[{one.selected}]"
    return f"{one.type}: {chosen} of {scores}" if scores else f"{one.type}: {chosen}"


def _shown(cell: Cell) -> Text:
    """A cell: how it came out, its score, then the output; where there is none, why."""
    if not cell.asked:
        return Text("· not asked", style="dim")
    if cell.passed is None:
        mark, style = ("◦ not judged", "yellow") if cell.outcome == "awaiting-judgments" else ("! error", "bold red")
    else:
        mark, style = ("✓", "green") if cell.success else ("✗", "red")
    text = Text(mark, style=style)
    if cell.score is not None:
        text.append(f" {cell.score:.2f}", style="default")
    if cell.selected:
        text.append(" ★", style="bold green")
    parts = [f"{one.type} {one.score:.2f}" for one in cell.scores] if len(cell.scores) > 1 else []
    if parts:
        text.append("\n" + shortened(", ".join(parts), WHY), style="dim")
    text.append("\n" + shortened(cell.output if cell.output is not None else cell.reason, OUTPUT), style="default")
    return text


def _closing(found: Matrix) -> list[tuple[str, list[str]]]:
    """The last lines of the matrix: figures of each column."""
    lines = [
        ("passed", [_passed(one) for one in found.columns]),
        ("mean score", [UNKNOWN if one.score is None else f"{one.score:.3f}" for one in found.columns]),
        ("mean latency, total cost", [_measured(one) for one in found.columns]),
    ]
    for name in dict.fromkeys(name for one in found.columns for name in one.metrics):
        lines.append(_figures(name, "mean", [one.metrics.get(name) for one in found.columns]))
        if any(one.derived for one in found.columns):
            lines.append(_figures(name, "sum", [one.metric_sums.get(name) for one in found.columns]))
    derived = dict.fromkeys(name for one in found.columns for name in one.derived)
    return lines + [_figures(name, "of sums", [one.derived.get(name) for one in found.columns]) for name in derived]


def _figures(name: str, kind: str, values: Sequence[float | None]) -> tuple[str, list[str]]:
    return f"{shortened(name, NAME - len(kind) - 2)}: {kind}", [
        UNKNOWN if one is None else f"{one:.4g}" for one in values
    ]


def _passed(one: ColumnFigures) -> str:
    if one.run_id is None:
        return "not asked"
    judged = one.passed + one.failed
    errors = "error" if one.errors == 1 else "errors"
    more = "".join(f", {number} {name}" for number, name in ((one.errors, errors), (one.open, "open")) if number)
    return f"{one.passed} of {judged}{more}"


def _measured(one: ColumnFigures) -> str:
    took = UNKNOWN if one.latency_ms is None else f"{one.latency_ms:.0f} ms"
    return took + ("" if one.cost_usd is None else f", ${one.cost_usd:.4f}")


def _notes(found: Matrix, limit: int) -> list[str]:
    notes = [f"{len(found.rows) - limit} more tests: --limit, or -o FILE"] if len(found.rows) > limit else []
    notes += [f"[{number}] {printable(one.problem, WHY)}" for number, one in enumerate(found.columns) if one.problem]
    return notes + [f"left out: {printable(one, WHY)}" for one in found.left_out]


def matrix_json(found: Matrix) -> Json:
    """The matrix as a program reads it; of each cell also `success`."""
    told: Json = found.model_dump(mode="json")
    told["rows"] = [_row_json(row) for row in found.rows]
    return told


def _row_json(row: Row) -> Json:
    cells: list[JsonValue] = [{**cell.model_dump(mode="json"), "success": cell.success} for cell in row.cells]
    return {**row.model_dump(mode="json"), "cells": cells, "holds": row.holds}


def matrix_csv(found: Matrix) -> str:
    """A line for each test: its variables, then of each column output, success and score, and what was selected."""
    names = list(dict.fromkeys(name for row in found.rows for name in row.variables))
    heads = [f"[{number}] {one.provider}: {one.prompt}" for number, one in enumerate(found.columns)]
    told = [f"{head} {part}" for head in heads for part in ("output", "success", "score")]
    lines = [csv_row(["test", "trial", *names, *told, "selected"])]
    return "".join([*lines, *(csv_row(_cells(row, names)) for row in found.rows)])


def _cells(row: Row, names: Sequence[str]) -> list[object]:
    variables = [value_text(row.variables[name]) if name in row.variables else None for name in names]
    outputs = [part for cell in row.cells for part in _cell(cell)]
    return [row.title, row.trial, *variables, *outputs, "; ".join(map(_selection, row.selections))]


def _cell(cell: Cell) -> tuple[str, bool | None, float | None]:
    shown = cell.reason if cell.output is None else cell.output
    return shown, None if cell.passed is None else cell.success, cell.score
