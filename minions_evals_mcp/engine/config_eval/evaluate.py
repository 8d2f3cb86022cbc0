"""A config from its records to its matrix: every column is a kept run that goes on where it was left."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import cast

import anyio

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.budget import Budget, HaltedError
from minions_evals_mcp.engine.config_eval.choosing import Choosing
from minions_evals_mcp.engine.config_eval.columns_before import columns_before, note_choices, note_columns
from minions_evals_mcp.engine.config_eval.evaluation import (
    Column,
    ColumnPart,
    EvalOptions,
    Evaluation,
    ModelSpec,
    SelectBest,
    models_of,
    part_request,
)
from minions_evals_mcp.engine.config_eval.filling import Filled
from minions_evals_mcp.engine.config_eval.kept_columns import StoredColumn, case_measures, kept_column
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.engine.config_eval.providers import Providers
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.default_judge import how_to_have_a_judge
from minions_evals_mcp.engine.judge.own_judges import OwnJudges
from minions_evals_mcp.engine.judge.vetting import vet
from minions_evals_mcp.engine.judge.yardstick import own_measure
from minions_evals_mcp.engine.records.save_records import save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import StartedCases, silent, start_benchmark
from minions_evals_mcp.engine.standing import RunProgress
from minions_evals_mcp.errors import InstrumentError, StoppedError, UnsupportedError
from minions_evals_mcp.models.registry import ModelRef
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.targets.live import Target
from minions_evals_mcp.targets.memory import Memory
from minions_evals_mcp.targets.prompted import written_prompt

ENDED = frozenset({"completed", "awaiting-judgments"})
"""The states of a run of which every output was made."""
AGAIN = "Progress is saved. Run the same command again to resume, with a higher cap if the cost stopped it."


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a column with what starts its run; starting twice is the same run."""

    request: RunRequest
    opening: Callable[[Budget], Target]
    column: Column
    memory: Memory | None

    async def started(
        self, engine: Engine, *, max_cost_usd: float | None, opening: Callable[[Budget], Target] | None = None
    ) -> StartedCases:
        job = await engine.store.read(lambda db: jobs.job_by_key(db, self.request.key or ""))
        target = self.request.target if job is None else _target_of(job)
        request = self.request.model_copy(update={"max_cost_usd": max_cost_usd, "target": target})
        return await start_benchmark(engine, request, target=opening or self.opening)

    def opened(self) -> Callable[[Budget], Target]:
        """Its target to start with, opened: what cannot be called is refused before anything is kept."""
        target = self.opening(_unmetered(self.request.max_cost_usd))
        return lambda _: target


def _target_of(job: Job) -> str:
    """The name of a run's target: a provider has several (`openai:x`, `openai:chat:x`), its run keeps the first."""
    request = job.spec["request"]
    assert isinstance(request, dict)
    return str(request["target"])


@dataclass(frozen=True, slots=True)
class _Ran:
    """A part's job, and the instrument's failure if it failed."""

    job_id: str
    problem: str
    was_complete: bool


async def evaluate(
    engine: Engine,
    evaluation: Evaluation,
    limits: EvalOptions,
    *,
    environment: Mapping[str, str],
    progress: Progress = silent,
) -> Matrix:
    """The config's matrix once every column has run; what ran before under the same key is not run again.

    Raises `EvalsError` by name before anything runs, and `StoppedError` at a cap. A column whose instrument fails
    is told in the matrix; the others go on.
    """
    async with AsyncExitStack() as opened:
        if evaluation.hooks is not None:
            opened.callback(evaluation.hooks.before_each.hooks.close)
        if evaluation.traces is not None and evaluation.traces.listening is not None:
            await opened.enter_async_context(evaluation.traces.listening())
        providers = Providers(engine, evaluation, environment, opened)
        graders = evaluation.graders.items()
        own_models = {name: await providers.models(spec) for name, spec in graders if isinstance(spec, ModelSpec)}
        own_code = {name: providers.judge(spec, name) for name, spec in graders if not isinstance(spec, ModelSpec)}
        config = replace(engine.config, concurrency=1) if evaluation.remembers else engine.config
        engine = replace(engine, own_models=own_models, own_code=own_code, config=config)
        parts = [
            await _part(column, part, limits, providers, memory)
            for column in evaluation.columns
            for memory in (Memory(evaluation.stored) if evaluation.remembers else None,)
            for part in column.parts
        ]
        _vet_judges(engine, evaluation, limits, like=parts[0].request)
        openings = [part.opened() for part in parts]
        await save_records(engine, evaluation.arrivals)
        started = [
            await part.started(engine, max_cost_usd=limits.max_cost_usd, opening=opening)
            for part, opening in zip(parts, openings, strict=True)
        ]
        jobs_of_all = [run.job.id for run in started]
        before = await _begun(engine, evaluation, limits, list(zip(parts, started, strict=True)))
        ran: list[_Ran] = []
        for part, run in zip(parts, started, strict=True):
            await _remember(
                engine,
                part,
                [job_id for job_id, other in zip(jobs_of_all, parts, strict=True) if other.column is part.column],
            )
            problem = await _carried_out(engine, part, run.job, jobs_of_all, limits, progress)
            ran.append(_Ran(run.job.id, problem, was_complete=limits.cache and run.job.state in ENDED))
        matrix = await _matrix(engine, evaluation, ran, limits, before, like=parts[0].request)
        if any(row.selections for row in matrix.rows):
            await engine.store.write(partial(note_choices, matrix=matrix, at=engine.clock()))
        return matrix if evaluation.hooks is None else await evaluation.hooks.after(evaluation, matrix)


async def _begun(
    engine: Engine, evaluation: Evaluation, limits: EvalOptions, runs: Sequence[tuple[_Part, StartedCases]]
) -> Sequence[str]:
    """Notes the columns, and tells whoever watches of all their cells. Result: the runs of the columns before."""
    columns = [
        (run.job.id, part.column.provider.label)
        for part, run in runs
        if part.request.subject_id == evaluation.benchmark_id
    ]
    by_column = [[run.job.id for part, run in runs if part.column is column] for column in evaluation.columns]
    note = partial(
        note_columns, benchmark_id=evaluation.benchmark_id, columns=columns, at=engine.clock(), parts=by_column,
        branch=limits.branch,
    )  # fmt: skip
    for _, run in runs:
        done = run.job.total if run.job.state in ENDED else 0
        engine.watch(RunProgress(run.job.id, run.job.total, done, key=run.job.key))
    return await engine.store.write(note)


def _unmetered(max_cost_usd: float | None) -> Budget:
    """A budget for what is opened and not asked."""
    return Budget(max_cost_usd, None, lambda _: None)


def _vet_judges(engine: Engine, evaluation: Evaluation, limits: EvalOptions, *, like: RunRequest) -> None:
    """Raises where a model that is to grade or to choose is not to be had; nothing has been kept by then."""
    panel = planning.judge_for(engine, like, _unmetered(limits.max_cost_usd), model=engine.judge_model()).panel
    measured = [own_measure(case) for case in _cases(evaluation)]
    for measure in measured:
        vet(panel, measure)
    model = engine.judge_model() if any(panel.asks_model(measure) for measure in measured) else None
    if model is not None:
        engine.models.client(model)
    own = OwnJudges(engine, _unmetered(limits.max_cost_usd))
    asking = [
        chooser for several in evaluation.choosers.values() for chooser in several if isinstance(chooser, SelectBest)
    ]
    for selection in asking:
        if selection.grader is not None:
            own.judge(selection.grader)
    if any(selection.grader is None for selection in asking) and engine.judge_model() is None:
        raise UnsupportedError(
            "select-best needs a judge model.",
            remedy=f"{how_to_have_a_judge(engine.config.providers)}.",
        )


def _cases(evaluation: Evaluation) -> Iterator[Record[TestCase]]:
    for arrival in evaluation.arrivals:
        record = arrival.record
        if isinstance(record.fields, TestCase):
            yield cast("Record[TestCase]", record)


async def _part(
    column: Column, part: ColumnPart, limits: EvalOptions, providers: Providers, memory: Memory | None
) -> _Part:
    models = [await providers.models(spec) for spec in models_of(part.provider.spec)]
    request = part_request(providers.engine, providers.evaluation, column, part, limits)
    return _Part(request, partial(providers.target, column, part, models, memory), column, memory)


async def _remember(engine: Engine, part: _Part, job_ids: Sequence[str]) -> None:
    """Has a column's memory hold what is kept of its tests, in their order: those that come next may name it."""
    if part.memory is None:
        return
    column = part.column
    runs_of = [(ident, "", False) for ident in job_ids]
    stored_column = await engine.store.read(lambda db: kept_column(db, column, runs_of))
    cases = [ident for config_part in column.parts for ident in config_part.case_ids]
    measured = await engine.store.read(lambda db: case_measures(db, cases))
    part.memory.forget()
    for measure in measured:
        unit = stored_column.unit(measure.case.id, 1)
        if unit is not None and unit.observed is not None:
            output = unit.observed.output
            part.memory.heard(measure.case.fields.inputs, written_prompt(output) or "", output)


async def _carried_out(
    engine: Engine, part: _Part, job: Job, job_ids: Sequence[str], limits: EvalOptions, progress: Progress
) -> str:
    """Runs a part to its end with what is left of the money; the instrument's failure, if it failed."""
    if job.state == "completed":
        return ""
    left = await _left(engine, limits, [ident for ident in job_ids if ident != job.id])
    if left is not None and left <= 0:
        raise StoppedError(f"the cost cap of ${limits.max_cost_usd:g} is reached.", remedy=AGAIN)
    run = await part.started(engine, max_cost_usd=left)
    try:
        await run.finish(progress)
    except InstrumentError as error:  # told in the matrix: the other columns have instruments of their own
        return error.message_text
    except StoppedError as error:
        raise StoppedError(error.message_text, remedy=AGAIN) from None
    return ""


async def _left(engine: Engine, limits: EvalOptions, others: Sequence[str]) -> float | None:
    """Returns what the other runs leave of the money."""
    return None if limits.max_cost_usd is None else limits.max_cost_usd - await _spent(engine, others)


async def _spent(engine: Engine, job_ids: Sequence[str]) -> float:
    once = dict.fromkeys(job_ids)  # columns that differ in their label only are one run
    jobs_found = await engine.store.read(lambda db: [jobs.job(db, ident) for ident in once])
    return math.fsum(job.spent.get("costUsd", 0.0) for job in jobs_found if job is not None)


async def _matrix(
    engine: Engine,
    evaluation: Evaluation,
    ran: Sequence[_Ran],
    limits: EvalOptions,
    before: Sequence[str],
    *,
    like: RunRequest,
) -> Matrix:
    """Returns what is kept, filled in, beside the columns `before`; choices still to be made are made under a request like that one."""
    job_ids = [ran.job_id for ran in ran]
    stored_columns = await engine.store.read(lambda db: _kept_columns(db, evaluation.columns, ran))
    measured = await engine.store.read(lambda db: case_measures(db, evaluation.case_ids))
    halted: list[str] = []
    budget = Budget(await _left(engine, limits, job_ids), None, halted.append)
    judging = planning.judge_for(engine, like, budget, model=engine.judge_model())
    filled = Filled(
        evaluation,
        _versions(evaluation),
        stored_columns,
        judging,
        Choosing(engine, judging.panel.llm, OwnJudges(engine, budget)),
    )
    cases = {measure.case.id: (index, measure) for index, measure in enumerate(measured)}
    try:
        rows = [await filled.row(*cases[ident], trial) for ident, trial in evaluation.rows]
    except HaltedError:
        raise StoppedError(f"{halted[0]}.", remedy=AGAIN) from None
    finally:
        with anyio.CancelScope(shield=True):
            spent = budget.news()
            await engine.store.write(partial(jobs.add_spent, ident=job_ids[-1], spent=spent))
    columns = tuple(filled.figures(number, rows) for number in range(len(evaluation.columns)))
    replaced = partial(columns_before, run_ids=[column.run_id or "" for column in columns], before=before)
    return Matrix(
        title=evaluation.title,
        benchmark_id=evaluation.benchmark_id,
        columns=columns,
        rows=tuple(rows),
        spent_usd=await _spent(engine, job_ids),
        left_out=evaluation.left_out,
        notes=evaluation.notes,
        judge=engine.default_judge_said(_judged_by(engine, evaluation, stored_columns)),
        before=await engine.store.read(replaced),
    )


def _judged_by(engine: Engine, evaluation: Evaluation, columns: Sequence[StoredColumn]) -> ModelRef | None:
    """The run's model, if it was asked: to grade, or to choose."""
    choosers = [chooser for several in evaluation.choosers.values() for chooser in several]
    chose = any(isinstance(chooser, SelectBest) and chooser.grader is None for chooser in choosers)
    graded = (planning.model_of(part.job) for column in columns for part in column.parts)
    return engine.judge_model() if chose else next((model for model in graded if model is not None), None)


def _kept_columns(db: Db, columns: Sequence[Column], ran: Sequence[_Ran]) -> list[StoredColumn]:
    """Returns what is kept of each column, whose parts ran one after the other."""
    following = iter(ran)
    return [
        kept_column(
            db, column, [(ran.job_id, ran.problem, ran.was_complete) for ran in islice(following, len(column.parts))]
        )
        for column in columns
    ]


def _versions(evaluation: Evaluation) -> dict[str, PromptVersion]:
    """The config's prompts by id."""
    fields = ((arrival.record.id, arrival.record.fields) for arrival in evaluation.arrivals)
    return {ident: version for ident, version in fields if isinstance(version, PromptVersion)}
