"""The words on a config's cells, tests and columns in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from minions_evals_mcp.engine.config_eval.matrix import (
    Cell,
    CellVerdict,
    ColumnFigures,
    ConfigTestRow,
    Matrix,
    Selected,
)
from minions_evals_mcp.report.plain import printable, shortened

NAME, WHY, MOST_ERRORS = 26, 160, 10
UNKNOWN = "–"
MARKS: dict[CellVerdict, tuple[str, str]] = {
    "passed": ("✓", "green"), "failed": ("✗", "red"), "error": ("! error", "bold red"), "open": ("◦ not judged", "yellow"),
    "not-asked": ("· not asked", "dim"),
}  # fmt: skip


def row_name(row: ConfigTestRow, width: int = NAME) -> str:
    """A test by its number and name, and by its trial after the first."""
    trial = f" ({row.trial})" if row.trial > 1 else ""
    return shortened(f"{row.index + 1}. {row.title}{trial}", width)


def marked(cell: Cell) -> Text:
    """Returns how a cell came out: its mark, its score, and whether it was chosen."""
    if not cell.asked:
        return Text("· not asked", style="dim")
    if cell.passed is not None and cell.undecided:
        return Text("! not chosen", style="bold red")
    mark, style = MARKS[cell.verdict]
    text = Text(mark, style=style)
    if cell.score is not None:
        text.append(f" {cell.score:.2f}", style="default")
    return text.append(" ★", style="bold green") if cell.selected else text


def scores_told(row: ConfigTestRow, cell: Cell) -> str:
    """The scores of a cell's assertions where there are several and one lost points, and what each `max-score` makes of them."""
    lost = len(cell.scores) > 1 and any(score.score < 1 for score in cell.scores)
    parts = [f"{score.type} {score.score:.2f}" for score in cell.scores] if lost else []
    return ", ".join([*parts, *_aggregates(row, cell)])


def _aggregates(row: ConfigTestRow, cell: Cell) -> list[str]:
    scores = ((selected.type, selected.scores[cell.column]) for selected in row.selections if selected.scores)
    return [f"{name} {score:.2f}" for name, score in scores if score is not None]


def failed_by(cell: Cell) -> str:
    """The first assertion that failed an output, and why; for one that could not be made or judged, its reason."""
    if cell.passed is None:
        return "" if cell.outcome == "awaiting-judgments" else cell.reason
    failed = next((score for score in cell.scores if not score.passed), None)
    return "" if cell.passed or failed is None else f"{failed.type}: {failed.reason}"


def why_open(cell: Cell) -> str:
    """Why an output has no verdict: no choice was made, it waits to be judged, or what could not be done."""
    waits = "waits to be judged" if cell.outcome == "awaiting-judgments" else cell.reason
    return cell.undecided or waits


def reasons(cell: Cell) -> str:
    """The reason of each check, those that failed first; of an output that was not judged, why."""
    if not cell.asked or cell.passed is None:
        return why_open(cell)
    ordered = sorted(cell.scores, key=lambda score: score.passed)
    return "; ".join(
        f"{'passed' if score.passed else 'failed'} {score.metric or score.type}: {score.reason}" for score in ordered
    )


def selection(pick: Selected) -> str:
    """Returns what was chosen, with the scores that it was chosen by."""
    if pick.problem:
        return f"{pick.type}: {shortened(pick.problem, WHY)}"
    scores = ", ".join(UNKNOWN if score is None else f"{score:.2f}" for score in pick.scores)
    return f"{chosen(pick)} of {scores}" if scores else chosen(pick)


def chosen(pick: Selected) -> str:
    """Returns what was chosen."""
    choice_text = "!" if pick.problem else "none" if pick.selected is None else f"[{pick.selected}]"
    return f"{pick.type}: {choice_text}"


def figures(matrix: Matrix) -> list[tuple[str, list[str]]]:
    """Returns what each column came to, by the figure's name."""
    columns = matrix.columns
    lines = [
        ("passed", [_passed(column) for column in columns]),
        ("mean score", [UNKNOWN if column.score is None else f"{column.score:.3f}" for column in columns]),
        ("mean latency, total cost", [measured(column) for column in columns]),
    ]
    for name in dict.fromkeys(name for column in columns for name in column.metrics):
        lines.append(_figures(name, "mean", columns, lambda column, name=name: column.metrics.get(name)))
        if any(column.derived for column in columns):
            lines.append(_figures(name, "sum", columns, lambda column, name=name: column.metric_sums.get(name)))
    derived = dict.fromkeys(name for column in columns for name in column.derived)
    return lines + [
        _figures(name, "of sums", columns, lambda column, name=name: column.derived.get(name)) for name in derived
    ]


def _figures(
    name: str, kind: str, columns: Sequence[ColumnFigures], value: Callable[[ColumnFigures], float | None]
) -> tuple[str, list[str]]:
    values = [value(column) for column in columns]
    return f"{shortened(name, NAME - len(kind) - 2)}: {kind}", [
        UNKNOWN if value is None else f"{value:.4g}" for value in values
    ]


def _passed(column: ColumnFigures) -> str:
    if column.run_id is None:
        return "not asked"
    judged = column.passed + column.failed
    errors = "error" if column.errors == 1 else "errors"
    more = "".join(f", {number} {name}" for number, name in ((column.errors, errors), (column.open, "open")) if number)
    return f"{column.passed} of {judged}{more}"


def measured(column: ColumnFigures) -> str:
    """Returns what a column took and cost."""
    took = UNKNOWN if column.latency_ms is None else f"{column.latency_ms:.0f} ms"
    return took + ("" if column.cost_usd is None else f", ${column.cost_usd:.4f}")


def notes(matrix: Matrix, limit: int) -> list[str]:
    """Returns what stands under the matrix: what is not shown, what went wrong and why, what was left out."""
    outputs = [cell for row in matrix.rows for cell in row.cells if cell.output is not None]
    reused = sum(cell.cached for cell in outputs)
    lines = [f"{reused} of {len(outputs)} outputs from cache (--no-cache regenerates them)"] if reused else []
    lines += [f"{len(matrix.rows) - limit} more tests (use --limit or -o FILE)"] if len(matrix.rows) > limit else []
    problems: dict[str, list[str]] = {}
    for number, column in enumerate(matrix.columns):
        if column.problem:
            problems.setdefault(column.problem, []).append(f"[{number}]")
    lines += [f"{' '.join(columns)} {printable(problem, 2 * WHY)}" for problem, columns in problems.items()]
    lines += [f"the judge was {matrix.judge}"] if matrix.judge else []
    lines += _errors(matrix) + [f"left out: {printable(text, WHY)}" for text in matrix.left_out]
    return lines + [f"note: {printable(note, WHY)}" for note in matrix.notes]


def _errors(matrix: Matrix) -> list[str]:
    """Returns why outputs could not be made, judged or chosen, each reason once, with where it was met."""
    reasons: dict[str, list[str]] = {}
    for row in matrix.rows:
        for cell in row.cells:
            wrong = cell.outcome not in {None, "scored", "awaiting-judgments"} and cell.passed is None
            if wrong and not matrix.columns[cell.column].problem:
                reasons.setdefault(cell.reason, []).append(f"{row.index + 1}[{cell.column}]")
        for selected in row.selections:
            if selected.problem:
                reasons.setdefault(f"{selected.type}: {selected.problem}", []).append(f"{row.index + 1}")
    lines = [
        f"! {', '.join(where[:3])}{f' and {len(where) - 3} more' if len(where) > 3 else ''}: {printable(why, 2 * WHY)}"
        for why, where in reasons.items()
    ]
    return lines[:MOST_ERRORS] + (
        [f"! and {len(lines) - MOST_ERRORS} more: -o FILE"] if len(lines) > MOST_ERRORS else []
    )
