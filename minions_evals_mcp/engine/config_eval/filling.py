"""Filling the answer to a config: each cell from what is kept of it, then each column's figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.engine.config_eval.choosing import Choosing
from minions_evals_mcp.engine.config_eval.evaluation import Evaluation
from minions_evals_mcp.engine.config_eval.kept_columns import StoredColumn, checked_cell
from minions_evals_mcp.engine.config_eval.matrix import (
    JUDGED,
    AssertionScore,
    Cell,
    ColumnFigures,
    ConfigTestRow,
    Matrix,
    Selected,
)
from minions_evals_mcp.engine.judge.judging import Judging
from minions_evals_mcp.engine.judge.yardstick import Measure
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.checks import Aggregate, Checked
from minions_evals_mcp.scoring.metrics import DerivedMetric, derive, metric_scores, metric_weights, named_in
from minions_evals_mcp.scoring.prompt_texts.version_text import version_text
from minions_evals_mcp.store.jobs import UnitRow
from minions_evals_mcp.targets.prompted import variables_of, written_prompt


@dataclass(frozen=True, slots=True)
class Filled:
    """Fills the matrix from what is kept."""

    evaluation: Evaluation
    versions: Mapping[str, PromptVersion]
    kept: Sequence[StoredColumn]
    judging: Judging
    choosing: Choosing

    async def row(self, index: int, measure: Measure, trial: int) -> ConfigTestRow:
        """One test under every column, with what is selected."""
        case = measure.case
        checked: dict[int, Aggregate] = {}
        cells: list[Cell] = []
        units: list[UnitKey] = []
        for column, stored_column in enumerate(self.kept):
            unit = stored_column.unit(case.id, trial)
            cell = stored_column.cell(column, case.id, trial)
            cell = cell.model_copy(update={"prompt": self._prompt(cell, case.fields.inputs, unit)})
            aggregate = await checked_cell(self.judging, measure, unit, cell)
            if aggregate is not None:
                checked[column] = aggregate
                cell = cell.model_copy(update={**_assertion_fields(aggregate), "reason": aggregate.reason})
            cells.append(cell)
            units += [] if unit is None else [unit.key]
        selections = [
            await self.choosing.chosen(chooser, cells, checked, inputs=case.fields.inputs, unit=units[0])
            for chooser in self.evaluation.choosers.get(case.id, ())
            if units
        ]
        return ConfigTestRow(
            index=index,
            case_id=case.id,
            title=case.title,
            variables=variables_of(case.fields.inputs),
            trial=trial,
            cells=tuple(_with_choice(cell, selections) for cell in cells),
            selections=tuple(selections),
            group=case.fields.group or "",
        )

    def _prompt(self, cell: Cell, inputs: Json, unit: UnitRow | None) -> str | None:
        """Returns what was asked in that cell: as code wrote it, where code did, else the rendered template."""
        column = self.evaluation.columns[cell.column]
        if not cell.asked:
            return None
        if column.writer is not None or self.evaluation.remembers or self.evaluation.hooks is not None:
            return None if unit is None or unit.observed is None else written_prompt(unit.observed.output)
        try:
            return version_text(self.versions[column.version_id], inputs)
        except BadInputError:  # the cell says why nothing could be asked
            return None

    def figures(self, number: int, rows: Sequence[ConfigTestRow]) -> ColumnFigures:
        """Returns how a column came out over the tests that ask for it."""
        cells = [row.cells[number] for row in rows if row.cells[number].asked]
        judged = [cell for cell in cells if cell.verdict in JUDGED]
        passed = sum(cell.success for cell in judged)
        errors = sum(cell.verdict == "error" for cell in cells)
        column, parts = self.evaluation.columns[number], self.kept[number].parts
        means, sums = _metrics(judged)
        return ColumnFigures(
            prompt=column.prompt_label,
            provider=column.provider.label,
            provider_id=column.provider.id,
            run_id=parts[0].job.id if parts else None,
            run_ids=tuple(part.job.id for part in parts),
            key=parts[0].job.key if parts else None,
            prompt_version_ref=column.version_id,
            state=next((part.job.state for part in parts if part.job.state != "completed"), "completed"),
            problem="; ".join(dict.fromkeys(part.problem for part in parts if part.problem)),
            passed=passed,
            failed=len(judged) - passed,
            errors=errors,
            open=len(cells) - len(judged) - errors,
            pass_rate=100 * passed / len(judged) if judged else None,
            score=_mean([cell.counted or 0.0 for cell in judged]),
            latency_ms=_mean([cell.latency_ms for cell in cells if cell.latency_ms is not None]),
            cost_usd=_sum([cell.cost_usd for cell in cells if cell.cost_usd is not None]),
            metrics=means,
            metric_sums=sums,
            derived=derive(self.evaluation.derived, sums, len(judged)),
        )


def _metrics(cells: Sequence[Cell]) -> tuple[dict[str, float], dict[str, float]]:
    """Each metric's mean over the cells that have it, and the sum of their weighted scores."""
    named = [(name, score, cell.metric_weights[name]) for cell in cells for name, score in cell.metrics.items()]
    sums = {name: math.fsum(score * weight for its, score, weight in named if its == name) for name, *_ in named}
    return {name: fmean([score for its, score, _ in named if its == name]) for name in sums}, sums


def with_metrics(
    matrix: Matrix, scores: Mapping[tuple[int, int], dict[str, float]], metrics: Sequence[DerivedMetric]
) -> Matrix:
    """The matrix with those named scores in place of its own, by row and column; a new one weighs 1."""
    if not scores:
        return matrix

    def scored(cell: Cell, by_name: dict[str, float] | None) -> Cell:
        if by_name is None:
            return cell
        weights = {name: cell.metric_weights.get(name, 1.0) for name in by_name}
        return cell.model_copy(update={"metrics": by_name, "metric_weights": weights})

    rows = tuple(
        row.model_copy(update={"cells": tuple(scored(cell, scores.get((number, cell.column))) for cell in row.cells)})
        for number, row in enumerate(matrix.rows)
    )

    def figured(number: int, column: ColumnFigures) -> ColumnFigures:
        judged = [row.cells[number] for row in rows if row.cells[number].verdict in JUDGED]
        means, sums = _metrics(judged)
        update = {"metrics": means, "metric_sums": sums, "derived": derive(metrics, sums, len(judged))}
        return column.model_copy(update=update)

    columns = tuple(figured(number, column) for number, column in enumerate(matrix.columns))
    return matrix.model_copy(update={"rows": rows, "columns": columns})


def _with_choice(cell: Cell, selections: Sequence[Selected]) -> Cell:
    """The cell with whether it was chosen, which is all its verdict where its test asks for nothing else.

    Where a choice came to nothing, no output has passed that test.
    """
    problems = "; ".join(f"{selection.type}: {selection.problem}" for selection in selections if selection.problem)
    if problems and cell.output is not None and cell.passed is not False:
        cell = cell.model_copy(update={"undecided": problems})
    made = [selection.selected for selection in selections if not selection.problem]
    if not made or cell.output is None:
        return cell
    chosen = all(column == cell.column for column in made)
    waits = cell.outcome == "awaiting-judgments"
    verdict = {"outcome": "scored", "passed": chosen, "score": float(chosen), "reason": ""} if waits else {}
    return cell.model_copy(update={"selected": chosen, **verdict})


def _assertion_fields(aggregate: Aggregate) -> dict[str, object]:
    """Returns what a cell says of its assertions: each one's verdict, and its metrics with what they weigh together."""
    named = named_in(aggregate)
    scores, weights = metric_scores(named), metric_weights(named)
    return {"scores": shown_scores(aggregate.results), "metrics": scores, "metric_weights": weights}


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _sum(values: Sequence[float]) -> float | None:
    return math.fsum(values) if values else None


def shown_scores(results: Sequence[Checked]) -> tuple[AssertionScore, ...]:
    """The verdicts as they stand in the answer."""
    return tuple(
        AssertionScore(
            type=result.type,
            passed=result.passed,
            score=result.score,
            reason=result.reason,
            weight=result.weight,
            metric=result.metric,
            parts=shown_scores(result.parts),
        )
        for result in results
    )
