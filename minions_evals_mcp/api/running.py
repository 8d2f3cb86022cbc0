"""Runs by the documents' names: `benchmark_id`, `test_case_id`, `agent_run_id`, `prompt_version_ref`, `triggered_by`."""

from __future__ import annotations

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import JudgeChoice, RunRequest
from minions_evals_mcp.engine.run import run_benchmark as benchmarks
from minions_evals_mcp.engine.run import run_test_case as cases
from minions_evals_mcp.engine.run.pipeline import Place, Progress, here
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store.jobs import Job


async def run_benchmark(  # noqa: PLR0913  the documented fields
    engine: Engine,
    request: RunRequest | None = None,
    *,
    benchmark_id: str | None = None,
    prompt_version_ref: str | None = None,
    judge: JudgeChoice = "auto",
    target: str | None = None,
    triggered_by: str = "python",
    key: str | None = None,
    progress: Progress = benchmarks.silent,
    place: Place = here,
) -> Job:
    """A run of the benchmark, carried on to its end or to what it waits for; give its id, or a whole `RunRequest`.

    Raises `BadInputError` before anything runs, `StoppedError` at a cap, `InstrumentError` where nothing could be judged.
    The run can be resumed under its key after each of them.
    """
    asked = request or RunRequest(
        subject_id=_named("benchmark_id", benchmark_id),
        prompt_version_ref=prompt_version_ref,
        judge=judge,
        target=target,
        triggered_by=triggered_by,
        key=key,
    )
    return await benchmarks.run_benchmark(engine, asked, progress=progress, place=place)


async def run_test_case(  # noqa: PLR0913  the documented fields
    engine: Engine,
    request: RunRequest | None = None,
    *,
    test_case_id: str | None = None,
    agent_run_id: str | None = None,
    prompt_version_ref: str | None = None,
    judge: JudgeChoice = "auto",
    target: str | None = None,
    triggered_by: str = "python",
    key: str | None = None,
    progress: Progress = benchmarks.silent,
) -> Job:
    """A run of the test case; give its id, or a whole `RunRequest`. Raises as `run_benchmark` does."""
    asked = request or RunRequest(
        subject_id=_named("test_case_id", test_case_id),
        agent_run_id=agent_run_id,
        prompt_version_ref=prompt_version_ref,
        judge=judge,
        target=target,
        triggered_by=triggered_by,
        key=key,
    )
    return await cases.run_test_case(engine, asked, progress=progress)


def _named(name: str, ident: str | None) -> str:
    if ident is None:
        raise BadInputError(f"{name}: it is missing.", remedy=f"Give {name}, or a RunRequest.")
    return ident
