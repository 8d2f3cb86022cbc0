"""The answer to a config as promptfoo writes its results to a `.json` file: what reads those reads these.

Where promptfoo 0.123.1 and we differ: an output without a verdict is an error, never a success, also where the test asks
nothing of it; outputs that could not be judged do not count in derived metrics; `config` is the title only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import SET
from minions_evals_mcp.domain.definitions import Fields, Json
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.engine.config_eval.evaluation import Evaluation, Written
from minions_evals_mcp.engine.config_eval.matrix import (
    JUDGED,
    AssertionScore,
    Cell,
    ColumnFigures,
    ConfigTestRow,
    Matrix,
    Selected,
)

VERSION = 3
NO_FAILURE, ASSERTION, ERROR = 0, 1, 2
"""What `failureReason` says."""
NOT_JUDGED = "not judged"
ABOUT_SET = ("type", "metric", "weight", "threshold")


def results_json(matrix: Matrix, evaluation: Evaluation, *, at: str) -> Json:
    """The results file of a matrix, written at that moment; a test that does not ask for a column has no result there."""
    results: list[JsonValue] = [
        _result(matrix, evaluation, number, cell)
        for number, row in enumerate(matrix.rows)
        for cell in row.cells
        if cell.asked
    ]
    cells = [cell for row in matrix.rows for cell in row.cells if cell.asked]
    versions = {arrival.record.id: arrival.record.fields for arrival in evaluation.arrivals}
    prompts: list[JsonValue] = [
        _prompt(column, versions[column.prompt_version_ref], matrix.rows, number)
        for number, column in enumerate(matrix.columns)
    ]
    stats: Json = {
        "successes": sum(cell.success for cell in cells),
        "failures": sum(_failure(cell) == ASSERTION for cell in cells),
        "errors": sum(_failure(cell) == ERROR for cell in cells),
        "tokenUsage": _tokens(cells),
    }
    return {
        "evalId": matrix.benchmark_id,
        "results": {"version": VERSION, "timestamp": at, "prompts": prompts, "results": results, "stats": stats},
        "config": {"description": matrix.title},
        "shareableUrl": None,
        "metadata": {"evaluationCreatedAt": at},
    }


def _failure(cell: Cell) -> int:
    """Why an output is no success: an assertion (or another output was chosen), or that it has no verdict."""
    if cell.success:
        return NO_FAILURE
    return ASSERTION if cell.verdict == "failed" else ERROR


def _error(cell: Cell) -> str:
    """Why an output has no verdict."""
    why = cell.undecided or cell.reason
    return why if cell.verdict == "error" and why else f"{NOT_JUDGED}: {why}" if why else NOT_JUDGED


def _score(cell: Cell) -> float:
    """The score as promptfoo has it: a number that code gave may lift it over 1, or under 0; it is kept as the nearer of them."""
    if (
        cell.verdict in {"open", "error"}
        or cell.selected is False
        or cell.score is None
        or (cell.selected and not cell.scores)
    ):
        return 0.0
    weight = math.fsum(score.weight for score in cell.scores)
    mean = math.fsum(score.weight * score.score for score in cell.scores) / weight if weight else 0.0
    return mean if cell.score == min(1.0, max(0.0, mean)) else cell.score


def _tokens(cells: Sequence[Cell]) -> Json:
    prompt = sum(cell.input_tokens or 0 for cell in cells)
    completion = sum(cell.output_tokens or 0 for cell in cells)
    return {"total": prompt + completion, "prompt": prompt, "completion": completion}


def _prompt(column: ColumnFigures, version: Fields, rows: Sequence[ConfigTestRow], number: int) -> Json:
    """A column with its figures; a named metric is the sum of its weighted scores, as derived metrics see it."""
    assert isinstance(version, PromptVersion)
    cells = [row.cells[number] for row in rows if row.cells[number].asked]
    verdicts = [score.passed for cell in cells for score in _told_one_by_one(cell.scores)]
    verdicts += [
        selection.selected == number
        for row in rows
        for selection in row.selections
        if _chose(selection, row.cells[number])
    ]
    judged = [cell for cell in cells if cell.verdict in JUDGED]
    known: Json = {name: value for name, value in column.derived.items() if value is not None}
    metrics: Json = {
        "score": math.fsum(map(_score, cells)),
        "testPassCount": column.passed,
        "testFailCount": column.failed,
        "testErrorCount": column.errors + column.open,
        "assertPassCount": sum(verdicts),
        "assertFailCount": len(verdicts) - sum(verdicts),
        "totalLatencyMs": math.fsum(cell.latency_ms or 0.0 for cell in cells),
        "tokenUsage": _tokens(cells),
        "namedScores": {**column.metric_sums, **known},
        "namedScoresCount": {name: sum(_bearing(cell, name) for cell in judged) for name in column.metric_sums},
        "namedScoreWeights": {
            name: math.fsum(cell.metric_weights.get(name, 0.0) for cell in judged) for name in column.metric_sums
        },
        "cost": math.fsum(cell.cost_usd or 0.0 for cell in cells),
    }
    shown: Json = {"raw": version.content, "label": column.prompt, "id": column.prompt_version_ref}
    return {**shown, "provider": column.provider, "metrics": metrics}


def _bearing(cell: Cell, name: str) -> int:
    """Returns how many assertions gave that metric its score in a test: one where only sets bear its name."""
    if name not in cell.metrics:
        return 0
    return sum(score.metric == name and score.type != SET for score in _told_one_by_one(cell.scores)) or 1


def _told_one_by_one(scores: Sequence[AssertionScore]) -> list[AssertionScore]:
    """The verdicts in a row, those inside a set behind it."""
    return [each_score for score in scores for each_score in (score, *_told_one_by_one(score.parts))]


def _result(matrix: Matrix, evaluation: Evaluation, number: int, cell: Cell) -> Json:
    row, column = matrix.rows[number], matrix.columns[cell.column]
    written = evaluation.written[row.case_id]
    failure, tokens = _failure(cell), _tokens([cell])
    made: JsonValue = cell.output if cell.value is None else cell.value
    response: Json = {"output": made, "tokenUsage": tokens, "cost": cell.cost_usd}
    error: Json = {"error": _error(cell)} if failure == ERROR else {}
    prompt_wire: Json = {"raw": cell.prompt or "", "label": column.prompt}
    return {
        "id": f"{cell.run_id or column.run_id}:{number}:{cell.column}", "promptId": column.prompt_version_ref,
        "promptIdx": cell.column, "testIdx": number, "testCase": written.test,
        "vars": row.variables if evaluation.hooks is None else {**row.variables, **cell.recalled},
        "provider": {"id": column.provider_id, "label": column.provider}, "prompt": prompt_wire,
        "response": {} if cell.output is None else response, "success": cell.success, "score": _score(cell),
        "namedScores": _numbers(cell), "failureReason": failure, **error, "latencyMs": cell.latency_ms or 0.0,
        "cost": cell.cost_usd or 0.0, "gradingResult": None if cell.passed is None else _grading(row, cell, written),
        "metadata": written.test.get("metadata", {}), "tokenUsage": tokens,
    }  # fmt: skip


def _numbers(cell: Cell) -> Json:
    return dict(cell.metrics)


def _grading(row: ConfigTestRow, cell: Cell, written: Written) -> Json:
    """The verdict with each assertion's, and with what chose among the outputs."""
    judged = zip(cell.scores, written.assertions, strict=True)
    components = [component for score, assertion in judged for component in _components(score, assertion)]
    components += _choices(row, cell, written)
    failed = [str(component["reason"]) for component in components if component["pass"] is False]
    unchosen = "; ".join(
        f"{selection.type} chose none: {selection.problem}" for selection in row.selections if selection.problem
    )
    reason = cell.reason or (failed[0] if failed else unchosen or "All assertions passed")
    return {
        "pass": cell.success, "score": _score(cell), "reason": reason,
        "namedScores": _numbers(cell), "namedScoreWeights": dict(cell.metric_weights), "componentResults": [*components],
    }  # fmt: skip


def _components(score: AssertionScore, assertion: JsonValue) -> list[Json]:
    """The verdict on an assertion as it is written; with its parts in it and behind it, those of a set or of code."""
    verdict: Json = {"pass": score.passed, "score": score.score, "reason": score.reason}
    if score.type != SET or not isinstance(assertion, dict):
        wire: Json = {**verdict, "assertion": assertion}
        inner = [_components(part, assertion)[0] for part in score.parts]
        return [{**wire, "componentResults": [*inner]} if inner else wire, *inner]
    members = assertion.get("assert")
    listed = members if isinstance(members, list) else []
    parts = [
        component for part, member in zip(score.parts, listed, strict=False) for component in _components(part, member)
    ]
    about: Json = {"assertionCount": len(score.parts), **{key: assertion[key] for key in ABOUT_SET if key in assertion}}
    whole: Json = {**verdict, "componentResults": [*parts], "metadata": {"assertionSet": about}}
    return [whole, *parts]


def _choices(row: ConfigTestRow, cell: Cell, written: Written) -> list[Json]:
    return [
        {
            "pass": selection.selected == cell.column, "score": float(selection.selected == cell.column),
            "reason": selection.reasons[cell.column] if selection.reasons else "", "assertion": assertion,
            **_named(selection, cell),
        }
        for selection, assertion in zip(row.selections, written.choosers, strict=True)
        if _chose(selection, cell)
    ]  # fmt: skip


def _named(selection: Selected, cell: Cell) -> Json:
    named = selection.named_scores[cell.column] if selection.named_scores else None
    return {} if named is None else {"namedScores": named.model_dump(mode="json")}


def _chose(selection: Selected, cell: Cell) -> bool:
    """Returns whether that output was among those of which one was chosen."""
    return not selection.problem and cell.passed is not None
