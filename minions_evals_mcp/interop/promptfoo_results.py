"""The answer to a config as promptfoo writes its results to a `.json` file: what reads those reads these.

Where promptfoo 0.121.20 and we differ: a prompt stands as its template, an assertion without its value, `testCase`
without assertions, and an output that waits for a person is neither success, failure nor error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.side_by_side import Cell, ColumnFigures, Matrix, Row, Score

VERSION = 3
NO_FAILURE, ASSERTION, ERROR = 0, 1, 2
"""What `failureReason` says."""
WAITING = "awaiting-judgments"


def results_json(found: Matrix, *, at: str) -> Json:
    """The results file of a matrix, written at that moment."""
    results: list[JsonValue] = [_result(found, row, cell) for row in found.rows for cell in row.cells]
    cells = [cell for row in found.rows for cell in row.cells]
    prompts: list[JsonValue] = [
        _prompt(column, [row.cells[number] for row in found.rows]) for number, column in enumerate(found.columns)
    ]
    stats: Json = {
        "successes": sum(cell.success for cell in cells),
        "failures": sum(_failure(cell) == ASSERTION for cell in cells),
        "errors": sum(_failure(cell) == ERROR for cell in cells),
        "tokenUsage": _tokens(cells),
    }
    return {
        "evalId": found.benchmark_id,
        "results": {"version": VERSION, "timestamp": at, "prompts": prompts, "results": results, "stats": stats},
        "config": {"description": found.title},
        "shareableUrl": None,
        "metadata": {"evaluationCreatedAt": at},
    }


def _failure(cell: Cell) -> int:
    """Why an output is no success: an assertion (or another output was chosen), or an instrument that failed."""
    if cell.success or cell.outcome == WAITING:
        return NO_FAILURE
    return ERROR if cell.passed is None else ASSERTION


def _score(cell: Cell) -> float:
    return 0.0 if cell.selected is False else cell.score or 0.0


def _tokens(cells: Sequence[Cell]) -> Json:
    prompt = sum(cell.input_tokens or 0 for cell in cells)
    completion = sum(cell.output_tokens or 0 for cell in cells)
    return {"total": prompt + completion, "prompt": prompt, "completion": completion}


def _cost(cells: Iterable[Cell]) -> float:
    return math.fsum(cell.cost_usd or 0.0 for cell in cells)


def _prompt(column: ColumnFigures, cells: Sequence[Cell]) -> Json:
    """A column with its figures; a named metric is the sum of its scores, as derived metrics see it."""
    checks = [one for cell in cells for one in cell.scores]
    named = [pair for cell in cells if cell.passed is not None for pair in cell.metrics.items()]
    names = dict.fromkeys(name for name, _ in named)
    sums: Json = {name: math.fsum(score for its, score in named if its == name) for name in names}
    known: Json = {name: value for name, value in column.derived.items() if value is not None}
    metrics: Json = {
        "score": math.fsum(map(_score, cells)),
        "testPassCount": column.passed,
        "testFailCount": column.failed,
        "testErrorCount": column.errors,
        "assertPassCount": sum(one.passed for one in checks),
        "assertFailCount": sum(not one.passed for one in checks),
        "totalLatencyMs": math.fsum(cell.latency_ms or 0.0 for cell in cells),
        "tokenUsage": _tokens(cells),
        "namedScores": {**sums, **known},
        "namedScoresCount": {name: sum(its == name for its, _ in named) for name in names},
        "cost": _cost(cells),
    }
    return {**_shown_prompt(column), "id": column.prompt_version_ref, "provider": column.provider, "metrics": metrics}


def _shown_prompt(column: ColumnFigures) -> Json:
    return {"raw": column.prompt, "label": column.prompt}


def _result(found: Matrix, row: Row, cell: Cell) -> Json:
    column = found.columns[cell.column]
    failure = _failure(cell)
    tokens = _tokens([cell])
    test: Json = {"description": row.title, "vars": row.variables}
    response: Json = {} if cell.output is None else {"output": cell.output, "tokenUsage": tokens, "cost": cell.cost_usd}
    error: Json = {"error": cell.reason} if failure == ERROR else {}
    return {
        "id": f"{column.run_id}:{row.index}:{row.trial}", "promptId": column.prompt_version_ref,
        "promptIdx": cell.column, "testIdx": row.index, "testCase": test, "vars": row.variables,
        "provider": {"id": column.provider, "label": column.provider}, "prompt": _shown_prompt(column),
        "response": response, "success": cell.success, "score": _score(cell), "namedScores": _numbers(cell),
        "failureReason": failure, **error, "latencyMs": cell.latency_ms or 0.0, "cost": cell.cost_usd or 0.0,
        "gradingResult": None if cell.passed is None else _grading(row, cell), "metadata": {}, "tokenUsage": tokens,
    }  # fmt: skip


def _numbers(cell: Cell) -> Json:
    return dict(cell.metrics)


def _grading(row: Row, cell: Cell) -> Json:
    """The verdict with each assertion's, and with what chose among the outputs."""
    components = [_component(one) for one in cell.scores] + _choices(row, cell)
    failed = [str(one["reason"]) for one in components if one["pass"] is False]
    return {
        "pass": cell.success, "score": _score(cell), "reason": failed[0] if failed else "All assertions passed",
        "namedScores": _numbers(cell), "componentResults": [*components],
    }  # fmt: skip


def _component(one: Score) -> Json:
    metric: Json = {} if one.metric is None else {"metric": one.metric}
    parts: list[JsonValue] = [_component(part) for part in one.parts]
    within: Json = {"componentResults": parts} if parts else {}
    assertion: Json = {"type": one.type, "weight": one.weight, **metric}
    return {"pass": one.passed, "score": one.score, "reason": one.reason, "assertion": assertion, **within}


def _choices(row: Row, cell: Cell) -> list[Json]:
    return [
        {
            "pass": one.selected == cell.column, "score": float(one.selected == cell.column),
            "reason": one.reasons[cell.column] if one.reasons else "", "assertion": {"type": one.type},
        }
        for one in row.selections
        if not one.problem
    ]  # fmt: skip
