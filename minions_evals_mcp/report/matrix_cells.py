"""What is said of a config's cells, tests and columns in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from minions_evals_mcp.engine.config_eval.matrix import Cell, ColumnFigures, Matrix, Row, Selected
from minions_evals_mcp.report.plain import printable, shortened

NAME, WHY, MOST_ERRORS = 26, 160, 10
UNKNOWN = "–"


def row_name(row: Row, width: int = NAME) -> str:
    """A test by its number and name, and by its trial after the first."""
    trial = f" ({row.trial})" if row.trial > 1 else ""
    return shortened(f"{row.index + 1}. {row.title}{trial}", width)


def marked(cell: Cell) -> Text:
    """How a cell came out: its mark, its score, and whether it was chosen."""
    if not cell.asked:
        return Text("· not asked", style="dim")
    if cell.passed is None:
        mark, style = ("◦ not judged", "yellow") if cell.outcome == "awaiting-judgments" else ("! error", "bold red")
    else:
        mark, style = ("✓", "green") if cell.success else ("✗", "red")
    text = Text(mark, style=style)
    if cell.score is not None:
        text.append(f" {cell.score:.2f}", style="default")
    return text.append(" ★", style="bold green") if cell.selected else text


def scores_told(row: Row, cell: Cell) -> str:
    """The scores of a cell's assertions where there are several, and what each `max-score` makes of them."""
    parts = [f"{one.type} {one.score:.2f}" for one in cell.scores] if len(cell.scores) > 1 else []
    return ", ".join([*parts, *_aggregates(row, cell)])


def _aggregates(row: Row, cell: Cell) -> list[str]:
    scores = ((one.type, one.scores[cell.column]) for one in row.selections if one.scores)
    return [f"{name} {score:.2f}" for name, score in scores if score is not None]


def failed_by(cell: Cell) -> str:
    """The first assertion that failed an output, and why; for one that could not be made or judged, its reason."""
    if cell.passed is None:
        return "" if cell.outcome == "awaiting-judgments" else cell.reason
    failed = next((one for one in cell.scores if not one.passed), None)
    return "" if cell.passed or failed is None else f"{failed.type}: {failed.reason}"


def selection(one: Selected) -> str:
    """What was chosen, with the scores that it was chosen by."""
    if one.problem:
        return f"{one.type}: {shortened(one.problem, WHY)}"
    scores = ", ".join(UNKNOWN if score is None else f"{score:.2f}" for score in one.scores)
    return f"{chosen(one)} of {scores}" if scores else chosen(one)


def chosen(one: Selected) -> str:
    """What was chosen."""
    told = "!" if one.problem else "none" if one.selected is None else f"[{one.selected}]"
    return f"{one.type}: {told}"


def figures(found: Matrix) -> list[tuple[str, list[str]]]:
    """What each column came to, by the figure's name."""
    columns = found.columns
    lines = [
        ("passed", [_passed(one) for one in columns]),
        ("mean score", [UNKNOWN if one.score is None else f"{one.score:.3f}" for one in columns]),
        ("mean latency, total cost", [measured(one) for one in columns]),
    ]
    for name in dict.fromkeys(name for one in columns for name in one.metrics):
        lines.append(_figures(name, "mean", columns, lambda one, name=name: one.metrics.get(name)))
        if any(one.derived for one in columns):
            lines.append(_figures(name, "sum", columns, lambda one, name=name: one.metric_sums.get(name)))
    derived = dict.fromkeys(name for one in columns for name in one.derived)
    return lines + [
        _figures(name, "of sums", columns, lambda one, name=name: one.derived.get(name)) for name in derived
    ]


def _figures(
    name: str, kind: str, columns: Sequence[ColumnFigures], value: Callable[[ColumnFigures], float | None]
) -> tuple[str, list[str]]:
    values = [value(one) for one in columns]
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


def measured(one: ColumnFigures) -> str:
    """What a column took and cost."""
    took = UNKNOWN if one.latency_ms is None else f"{one.latency_ms:.0f} ms"
    return took + ("" if one.cost_usd is None else f", ${one.cost_usd:.4f}")


def notes(found: Matrix, limit: int) -> list[str]:
    """What stands under the matrix: what is not shown, what went wrong and why, what was left out."""
    told = [f"{len(found.rows) - limit} more tests: --limit, or -o FILE"] if len(found.rows) > limit else []
    problems: dict[str, list[str]] = {}
    for number, one in enumerate(found.columns):
        if one.problem:
            problems.setdefault(one.problem, []).append(f"[{number}]")
    told += [f"{' '.join(columns)} {printable(problem, 2 * WHY)}" for problem, columns in problems.items()]
    told += [f"the judge was {found.judge}"] if found.judge else []
    told += _errors(found) + [f"left out: {printable(one, WHY)}" for one in found.left_out]
    return told + [f"note: {printable(one, WHY)}" for one in found.notes]


def _errors(found: Matrix) -> list[str]:
    """Why outputs could not be made, judged or chosen, each reason once, with where it was met."""
    reasons: dict[str, list[str]] = {}
    for row in found.rows:
        for cell in row.cells:
            wrong = cell.outcome not in {None, "scored", "awaiting-judgments"} and cell.passed is None
            if wrong and not found.columns[cell.column].problem:
                reasons.setdefault(cell.reason, []).append(f"{row.index + 1}[{cell.column}]")
        for one in row.selections:
            if one.problem:
                reasons.setdefault(f"{one.type}: {one.problem}", []).append(f"{row.index + 1}")
    told = [
        f"! {', '.join(where[:3])}{f' and {len(where) - 3} more' if len(where) > 3 else ''}: {printable(why, 2 * WHY)}"
        for why, where in reasons.items()
    ]
    return told[:MOST_ERRORS] + ([f"! and {len(told) - MOST_ERRORS} more: -o FILE"] if len(told) > MOST_ERRORS else [])
