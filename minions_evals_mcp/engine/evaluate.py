"""A config from its records to its matrix: every column is a kept run that goes on where it was left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

import anyio

from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.engine import planning
from minions_evals_mcp.engine.budget import Budget, HaltedError
from minions_evals_mcp.engine.choosing import Choosing
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.evaluation import Asked, Column, Evaluation, ModelSpec, SelectBest, column_request
from minions_evals_mcp.engine.judging import Judging
from minions_evals_mcp.engine.measures import Measure
from minions_evals_mcp.engine.pipeline import Progress
from minions_evals_mcp.engine.providers import Providers
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run_benchmark import StartedCases, silent, start_benchmark
from minions_evals_mcp.engine.save_records import save_records
from minions_evals_mcp.engine.side_by_side import (
    Cell,
    ColumnFigures,
    Kept,
    Matrix,
    Row,
    Selected,
    case_measures,
    checked_cell,
    kept_column,
    shown_scores,
)
from minions_evals_mcp.errors import InstrumentError, StoppedError, UnsupportedError
from minions_evals_mcp.scoring.checks import Aggregate
from minions_evals_mcp.scoring.metrics import derive, metric_scores
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.targets.live import Target

AGAIN = "Run the same command again: it goes on; what was judged is kept."


@dataclass(frozen=True, slots=True)
class _Column:
    """A column with what starts its run; starting twice is the same run."""

    column: Column
    request: RunRequest
    opening: Callable[[Budget], Target]

    async def started(self, engine: Engine, *, max_cost_usd: float | None) -> StartedCases:
        request = self.request.model_copy(update={"max_cost_usd": max_cost_usd})
        return await start_benchmark(engine, request, target=self.opening)


async def evaluate(
    engine: Engine,
    evaluation: Evaluation,
    asked: Asked,
    *,
    environment: Mapping[str, str],
    progress: Progress = silent,
) -> Matrix:
    """The config's matrix once every column has run; what ran before under the same key is not run again.

    Raises `EvalsError` by name before anything runs, and `StoppedError` at a cap. A column whose instrument fails
    is told in the matrix; the others go on.
    """
    _vet_judge(engine, evaluation)
    await save_records(engine, evaluation.arrivals)
    async with AsyncExitStack() as opened:
        providers = Providers(engine, evaluation, environment, opened)
        columns = [await _column(engine, evaluation, one, asked, providers) for one in evaluation.columns]
        started = [await one.started(engine, max_cost_usd=asked.max_cost_usd) for one in columns]
        problems: list[str] = []
        for column, run in zip(columns, started, strict=True):
            problems.append(await _carried_out(engine, column, run.job, started, asked, progress))
    return await _matrix(engine, evaluation, [run.job.id for run in started], problems, asked)


def _vet_judge(engine: Engine, evaluation: Evaluation) -> None:
    asks = any(isinstance(one, SelectBest) for several in evaluation.choosers.values() for one in several)
    if asks and engine.judge_model() is None:
        raise UnsupportedError(
            "select-best needs a model that judges.",
            remedy="Set ANTHROPIC_API_KEY, or name one with --judge-model provider:model.",
        )


async def _column(
    engine: Engine, evaluation: Evaluation, column: Column, asked: Asked, providers: Providers
) -> _Column:
    spec = column.provider.spec
    models = await providers.models(spec) if isinstance(spec, ModelSpec) else None
    request = column_request(engine, evaluation, column, asked)
    return _Column(column, request, partial(providers.target, column, models))


async def _carried_out(
    engine: Engine, column: _Column, job: Job, all_started: Sequence[StartedCases], asked: Asked, progress: Progress
) -> str:
    """Runs a column to its end with what is left of the money; the instrument's failure, if it failed."""
    if job.state == "completed":
        return ""
    left = await _left(engine, asked, [run.job.id for run in all_started if run.job.id != job.id])
    if left is not None and left <= 0:
        raise StoppedError(f"the cost cap of ${asked.max_cost_usd:g} is reached.", remedy=AGAIN)
    run = await column.started(engine, max_cost_usd=left)
    try:
        await run.finish(progress)
    except InstrumentError as error:  # told in the matrix: the other columns have instruments of their own
        return error.message
    except StoppedError as error:
        raise StoppedError(error.message, remedy=AGAIN) from None
    return ""


async def _left(engine: Engine, asked: Asked, others: Sequence[str]) -> float | None:
    """What the other runs leave of the money."""
    return None if asked.max_cost_usd is None else asked.max_cost_usd - await _spent(engine, others)


async def _spent(engine: Engine, job_ids: Sequence[str]) -> float:
    found = await engine.store.read(lambda db: [jobs.job(db, ident) for ident in job_ids])
    return math.fsum(job.spent.get("costUsd", 0.0) for job in found if job is not None)


async def _matrix(
    engine: Engine, evaluation: Evaluation, job_ids: Sequence[str], problems: Sequence[str], asked: Asked
) -> Matrix:
    cases = len(evaluation.case_ids)
    kept = await engine.store.read(lambda db: [kept_column(db, ident, cases) for ident in job_ids])
    measured = await engine.store.read(lambda db: case_measures(db, evaluation.case_ids))
    halted: list[str] = []
    budget = Budget(await _left(engine, asked, job_ids), None, halted.append)
    request = column_request(engine, evaluation, evaluation.columns[0], asked)
    judging = planning.judge_for(engine, request, budget, model=engine.judge_model())
    filled = _Filled(evaluation, kept, problems, judging, Choosing(engine, judging.llm))
    try:
        rows = [
            await filled.row(position, trial, measure)
            for position, measure in enumerate(measured)
            for trial in range(1, evaluation.trials + 1)
        ]
    except HaltedError:
        raise StoppedError(f"{halted[0]}.", remedy=AGAIN) from None
    finally:
        with anyio.CancelScope(shield=True):
            spent = budget.news()
            await engine.store.write(partial(jobs.add_spent, ident=job_ids[-1], spent=spent))
    return Matrix(
        title=evaluation.title,
        benchmark_id=evaluation.benchmark_id,
        columns=tuple(filled.figures(number, rows) for number in range(len(problems))),
        rows=tuple(rows),
        spent_usd=await _spent(engine, job_ids),
        left_out=evaluation.left_out,
    )


@dataclass(frozen=True, slots=True)
class _Filled:
    """Fills the matrix from what is kept."""

    evaluation: Evaluation
    kept: Sequence[Kept]
    problems: Sequence[str]
    judging: Judging
    choosing: Choosing

    async def row(self, position: int, trial: int, measure: Measure) -> Row:
        """One test under every column, with what is selected."""
        checked: dict[int, Aggregate] = {}
        cells: list[Cell] = []
        for column, kept in enumerate(self.kept):
            cell = kept.cell(column, position, trial, problem=self.problems[column])
            found = await checked_cell(self.judging, measure, kept, cell, (position, trial))
            if found is not None:
                checked[column] = found
                named = metric_scores(found.results)
                cell = cell.model_copy(update={"scores": shown_scores(found.results), "metrics": named})
            cells.append(cell)
        unit = UnitKey(self.kept[0].job.id, position, trial)
        inputs = measure.case.fields.inputs
        selections = [
            await self.choosing.chosen(one, cells, checked, inputs=inputs, unit=unit)
            for one in self.evaluation.choosers.get(measure.case.id, ())
        ]
        return Row(
            index=position,
            case_id=measure.case.id,
            title=measure.case.title,
            variables=inputs,
            trial=trial,
            cells=tuple(_with_choice(cell, selections) for cell in cells),
            selections=tuple(selections),
        )

    def figures(self, number: int, rows: Sequence[Row]) -> ColumnFigures:
        """How a column came out over all tests."""
        cells = [row.cells[number] for row in rows]
        judged = [cell for cell in cells if cell.passed is not None]
        passed = sum(cell.success for cell in judged)
        errors = sum(cell.outcome in {"judge-error", "target-error", "not-judgeable", "skipped"} for cell in cells)
        column, job = self.evaluation.columns[number], self.kept[number].job
        named = _named(judged)
        sums = {name: math.fsum(scores) for name, scores in named.items()}
        return ColumnFigures(
            prompt=column.prompt_label,
            provider=column.provider.label,
            run_id=job.id,
            key=job.key,
            prompt_version_ref=column.version_id,
            state=job.state,
            problem=self.problems[number],
            passed=passed,
            failed=len(judged) - passed,
            errors=errors,
            open=len(cells) - len(judged) - errors,
            pass_rate=100 * passed / len(judged) if judged else None,
            score=_mean([0.0 if cell.selected is False else cell.score or 0.0 for cell in judged]),
            latency_ms=_mean([cell.latency_ms for cell in cells if cell.latency_ms is not None]),
            cost_usd=_sum([cell.cost_usd for cell in cells if cell.cost_usd is not None]),
            metrics={name: math.fsum(scores) / len(scores) for name, scores in named.items()},
            derived=derive(self.evaluation.derived, sums, len(judged)),
        )


def _with_choice(cell: Cell, selections: Sequence[Selected]) -> Cell:
    made = [one.selected for one in selections if not one.problem]
    if not made or cell.output is None:
        return cell
    return cell.model_copy(update={"selected": all(chosen == cell.column for chosen in made)})


def _named(cells: Sequence[Cell]) -> dict[str, list[float]]:
    """The scores of each named metric, of the tests that have it."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        for name, score in cell.metrics.items():
            found.setdefault(name, []).append(score)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _sum(values: Sequence[float]) -> float | None:
    return math.fsum(values) if values else None
