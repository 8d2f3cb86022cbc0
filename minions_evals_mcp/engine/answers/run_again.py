"""A run like an earlier one, or the first of a benchmark, and what it would cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.answers.names import named, version_names
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, request_of
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.estimate import Estimate, estimate
from minions_evals_mcp.engine.run.run_benchmark import get_benchmark
from minions_evals_mcp.engine.version_chain import versions_beside
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import runs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import report_units


@dataclass(frozen=True, slots=True)
class Again:
    """The request: a run like that one, where an empty version is the same as then; without one the benchmark's first run."""

    run_id: str = ""
    benchmark_id: str = ""
    version: str = ""
    failed_only: bool = False
    max_cost_usd: float | None = None


class AgainPage(Value):
    """A run that could be started, and what it comes to. `versions` are ids with their names, the newest first."""

    run_id: str
    benchmark_id: str
    title: str
    version: str
    versions: tuple[tuple[str, str], ...]
    failed: int
    failed_only: bool
    max_cost_usd: float | None
    target: str
    estimate: Estimate


async def read_again(engine: Engine, again: Again) -> AgainPage:
    """Returns what the run would do; raises as starting it would."""
    request = await again_request(engine, again)
    priced = await estimate(engine, request, kind="benchmark")
    return await engine.store.read(partial(_page, request=request, again=again, run_estimate=priced))


async def again_request(engine: Engine, again: Again) -> RunRequest:
    """The request for the run; raises `BadInputError` for a run of another kind, or where no case failed."""
    if not again.run_id:
        benchmark = await get_benchmark(engine, again.benchmark_id)
        return RunRequest(subject_id=benchmark.id, triggered_by="page", max_cost_usd=again.max_cost_usd)
    job = await get_job(engine, again.run_id)
    if job.kind != "benchmark":
        raise BadInputError(
            "only a benchmark-run can be run again from here.", remedy="Repeat it the way it was started."
        )
    before = request_of(job)
    failed = sorted(await engine.store.read(lambda db: runs.failed_cases(db, job.id))) if again.failed_only else []
    if again.failed_only and not failed:
        raise BadInputError("no case of that run failed.", remedy="Run all of them.")
    return RunRequest(
        subject_id=before.subject_id,
        prompt_version_ref=again.version or before.prompt_version_ref,
        judge=before.judge,
        target=before.target,
        recorded=before.recorded,
        trials=before.trials,
        triggered_by="page",
        case_ids=tuple(failed) or None,
        selection=f"the cases that failed in {job.id}" if failed else None,
        max_cost_usd=again.max_cost_usd,
    )


def _page(db: Db, *, request: RunRequest, again: Again, run_estimate: Estimate) -> AgainPage:
    version = request.prompt_version_ref
    beside = versions_beside(db, version) if version is not None else ()
    names = version_names(db, beside)
    return AgainPage(
        run_id=again.run_id,
        benchmark_id=request.subject_id,
        title=report_units.titles(db, [request.subject_id]).get(request.subject_id, request.subject_id),
        version=version or "",
        versions=tuple((version, named(names, version)) for version in reversed(beside)),
        failed=len(runs.failed_cases(db, again.run_id)) if again.run_id else 0,
        failed_only=again.failed_only,
        max_cost_usd=again.max_cost_usd,
        target=request.target or "recorded outputs",
        estimate=run_estimate,
    )
