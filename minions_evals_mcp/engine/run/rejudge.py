"""Stored outputs judged anew, under another judge or another version of the rubric: appended, no target is called."""

from __future__ import annotations

from minions_evals_mcp.engine.conclude.comparison import benchmark_run_in
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import find_benchmark_run, get_job, request_of
from minions_evals_mcp.engine.request import JudgeChoice, RunRequest


async def rejudge_request(
    engine: Engine, run_id: str, *, judge: JudgeChoice = "auto", key: str | None = None, triggered_by: str
) -> RunRequest:
    """Returns what to run to judge the outputs of the benchmark-run under that id or key anew; raises `NotFoundError` where none is.

    It is no point of a trend and no regression: the outputs were counted when they were made.
    """
    ident = await find_benchmark_run(engine, run_id)
    run = await engine.store.read(lambda db: benchmark_run_in(db, ident))
    judged = request_of(await get_job(engine, ident))
    return judged.judged_anew(
        ident,
        subject_id=run.fields.benchmark_id,
        prompt_version_ref=run.fields.prompt_version_ref,
        judge=judge,
        trials=run.fields.trials,
        triggered_by=triggered_by,
        key=key,
    )
