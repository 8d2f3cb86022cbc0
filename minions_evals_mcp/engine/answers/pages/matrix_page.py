"""Cases × columns: prompts, models, versions or runs side by side, each column with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.domain.request_fields import OF_A_CONFIG
from minions_evals_mcp.domain.results import BenchmarkRun
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.answers.readings.real_change import real_change
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.next_steps import Next
from minions_evals_mcp.store import jobs, runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries import report_units
from minions_evals_mcp.store.queries.config_labels import target_label
from minions_evals_mcp.store.queries.pages import level_cases, matrix_cells, overview
from minions_evals_mcp.store.queries.pages.matrix_cells import MatrixCase, MatrixCell, Only

VERSIONS = 6
NEAREST = 3
METRICS = 4
"""So many means stand at the head of a column."""
CHECKS = 60
"""So many checks can be chosen from."""
MOST = 12
"""So many columns stand beside each other at most."""


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A run as a column: the version it is of, where its outputs came from, its figures once it has ended."""

    run_id: str
    name: str
    target: str
    state: str
    run: BenchmarkRun | None
    cost_usd: float | None
    latency_ms: float | None = None
    """The mean time of an output."""
    means: tuple[tuple[str, float, float], ...] = ()
    """Its criteria and named metrics by name, each with its mean and the highest score."""

    @property
    def cost_per_test(self) -> float | None:
        """US dollars, judging included; None where no cost is known."""
        if self.cost_usd is None or self.run is None:
            return None
        return self.cost_usd / self.run.total_count


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A case under every column; a cell is None where its run did not ask for the case."""

    case: MatrixCase
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """A page of the cases of a benchmark under its columns; `configured`: the columns are those of a config."""

    benchmark_id: str
    title: str
    configured: bool
    columns: tuple[MatrixColumn, ...]
    rows: tuple[MatrixRow, ...]
    total: int
    best: MatrixColumn | None
    """The column that scored most."""
    contenders: tuple[MatrixColumn, ...]
    """Of the nearest to the best, at most three, those over which chance can explain its lead."""
    checks: tuple[tuple[str, int], ...] = ()
    """The checks that failed under one of the columns, each with the number of its cases."""


@dataclass(frozen=True, slots=True)
class MatrixFilter:
    """The runs that stand as columns (none named: the usual ones) and which cases are listed."""

    run_ids: tuple[str, ...] = ()
    only: Only = ""
    text: str = ""
    hidden: tuple[str, ...] = ()
    base: str = ""
    """The run that the cells of the others are compared with."""
    sort: str = ""
    """The run by whose scores the cases are sorted, the lowest first."""
    check: str = ""
    """The name of a check that failed somewhere."""


async def read_matrix_page(engine: Engine, ident: str, filters: MatrixFilter, *, skip: int, limit: int) -> MatrixPage:
    """The benchmark under that id with those runs as columns, else the columns of its config, else its versions.

    Raises `NotFoundError` for what is not there, `BadInputError` where nothing ran yet.
    """
    return await engine.store.read(partial(_page, ident=ident, filters=filters, skip=skip, limit=limit))


def _page(db: Db, *, ident: str, filters: MatrixFilter, skip: int, limit: int) -> MatrixPage:
    titles = report_units.titles(db, [ident])
    if ident not in titles:
        raise NotFoundError("benchmark", ident, remedy="The overview lists them.")
    configured = overview.config_columns(db, ident)[:MOST]
    config = [column.run_id for column in configured]
    chosen = list(filters.run_ids)[:MOST] or config or matrix_cells.newest_of_versions(db, ident, limit=VERSIONS)
    if not chosen:
        raise BadInputError(
            f"{titles[ident]} has no run yet.", remedy=f"{Next('run-benchmark', {'benchmark_id': ident}, 'makes one')}."
        )
    labels = [""] * len(chosen) if filters.run_ids else [column.provider for column in configured]
    labelled = list(zip(chosen, labels or [""] * len(chosen), strict=True))  # two labels may share a run
    labelled = [pair for pair in labelled if pair[0] not in filters.hidden] or labelled
    chosen = [run for run, _ in labelled]
    cases, total = matrix_cells.matrix_cases(
        db, chosen, only=filters.only, text=filters.text, sort=filters.sort, check=filters.check, skip=skip, limit=limit
    )
    cells = matrix_cells.matrix_cells(db, chosen, [case.case_id for case in cases])
    columns = _columns(db, chosen, [label for _, label in labelled])
    by_score = sorted((column for column in columns if column.run is not None), key=_score, reverse=True)
    return MatrixPage(
        benchmark_id=ident,
        title=titles[ident],
        configured=bool(config) and not filters.run_ids,
        columns=columns,
        rows=tuple(
            MatrixRow(case, tuple(cells.get((case.case_id, case.trial, run)) for run in chosen)) for case in cases
        ),
        total=total,
        best=by_score[0] if by_score else None,
        contenders=_contenders(db, by_score),
        checks=tuple(matrix_cells.failed_checks(db, chosen, limit=CHECKS)),
    )


def _score(column: MatrixColumn) -> float:
    return 0.0 if column.run is None else column.run.overall_score


def _contenders(db: Db, by_score: Sequence[MatrixColumn]) -> tuple[MatrixColumn, ...]:
    """Whom the first does not beat for certain: by the test of every other door, the error shared by all the others."""
    if not by_score:
        return ()
    best, *others = by_score
    return tuple(
        other
        for other in others[:NEAREST]
        if real_change(db, other.run_id, best.run_id, tests=len(others)) == "within-noise"
    )


def _columns(db: Db, run_ids: Sequence[str], labels: Sequence[str]) -> tuple[MatrixColumn, ...]:
    """Columns of those runs. An empty label stands for the run's own target."""
    pairs = [(jobs.job(db, ident), runs.benchmark_run(db, ident)) for ident in run_ids]
    job_runs = [(job, None if run is None else run.fields) for job, run in pairs if job is not None]
    if len(job_runs) < len(pairs):
        raise NotFoundError(
            "run", run_ids[[job is None for job, _ in pairs].index(True)], remedy="Start from the runs."
        )
    names = version_names(db, (_request_value(job, "promptVersionRef") for job, _ in job_runs))
    return tuple(
        MatrixColumn(
            run_id=job.id,
            name=named(names, _request_value(job, "promptVersionRef")) or "no version",
            target=label or (target_label(db, job) or "").removeprefix(OF_A_CONFIG),
            state=job.state,
            run=run,
            cost_usd=overview.run_cost(db, job.id),
            latency_ms=level_cases.spent(db, [job.id]).latency_ms,
            means=_means(db, job.id),
        )
        for (job, run), label in zip(job_runs, labels, strict=True)
    )


def _means(db: Db, run_id: str) -> tuple[tuple[str, float, float], ...]:
    means = list(runs.kept_means(db, run_id).items())[:METRICS]
    titles = report_units.titles(db, [dimension for dimension, _ in means])
    scales = runs.kept_scales(db, run_id)
    return tuple((titles.get(dimension, dimension), mean, scales[dimension]) for dimension, mean in means)


def _request_value(job: Job, name: str) -> str | None:
    request = job.spec["request"]
    value = request.get(name) if isinstance(request, dict) else None
    return value if isinstance(value, str) else None
