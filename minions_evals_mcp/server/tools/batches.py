"""A batch of a prompt's test cases: a run for each, in the background, and what came of those that ended."""

from __future__ import annotations

from functools import partial

import anyio
from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.cases.test_history import TestCaseExecution
from minions_evals_mcp.engine.cases.testing import NotRun, batch_of, execution_of_job, not_run
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.operations import get_run, run_test_case
from minions_evals_mcp.operations.resuming import start_case
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.background_runs import GRACE_S
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import RunAnswer

SHORT = (
    "id", "testCaseId", "passed", "score", "regressionTypes", "promptVersion", "costUsd", "warnings", "actualOutput",
)  # fmt: skip


async def run_batch(call: Call, request: run_test_case.Request, wait_seconds: float | None) -> CallToolResult:
    """The batch, whose subject is the prompt, as far as it is when the wait ends."""
    requests = await run_test_case.batch(call.engine, request, default_target=call.target)
    begun: list[get_run.Job | NotRun] = [await _begun(call, one) for one in requests]
    jobs = [job for job in begun if not isinstance(job, NotRun)]
    default = min(map(call.runs.default_wait, jobs), default=0.0)
    seconds = max(GRACE_S, default if wait_seconds is None else wait_seconds)
    with anyio.move_on_after(seconds):
        for job in jobs:
            await call.runs.follow(job, seconds + GRACE_S, call.report_progress)
    return await _batch_answer(call, request.subject_id, begun)


async def _begun(call: Call, request: RunRequest) -> get_run.Job | NotRun:
    starting = partial(start_case, call.engine, request)
    try:
        return await call.runs.begin(starting, max_cost_usd=request.max_cost_usd)
    except EvalsError as error:  # one case that cannot be run does not stop the others
        return _refused(call, request.subject_id, error)


def _refused(call: Call, test_case_id: str, error: EvalsError) -> NotRun:
    """The case that was not run, with the calls that help."""
    reason = in_tools(error.text, call.engine.config.named_db)
    return not_run(test_case_id, error).model_copy(update={"reason": reason})


async def _batch_answer(call: Call, prompt_id: str, begun: list[get_run.Job | NotRun]) -> CallToolResult:
    running = [job.id for job in begun if not isinstance(job, NotRun) and call.runs.is_active(job.id)]
    batch = batch_of([await _ended(call, job) for job in begun if isinstance(job, NotRun) or job.id not in running])
    passed = sum(execution.passed is True for execution in batch.executions)
    wires: list[Json] = [execution.model_dump(mode="json") for execution in batch.executions]
    sentence = f"{passed} of {len(begun)} test cases of {prompt_id} passed"
    waiting = sum(execution.passed is None for execution in batch.executions)
    parts = [f"{waiting} {'has' if waiting == 1 else 'have'} no verdict"] * bool(waiting)
    parts += [f"{len(batch.not_run)} could not be run"] * bool(batch.not_run)
    parts += [f"{len(running)} still running"] * bool(running)
    answer = RunAnswer(
        summary="; ".join((sentence, *parts)),
        kind="batch",
        subject_id=prompt_id,
        executions=[{name: wire[name] for name in SHORT} for wire in wires],
        not_run=batch.not_run,
        running=running,
        next=[f'get_run {{"runId": "{running[0]}", "waitSeconds": 20}}'] if running else [],
    )
    return answered(answer)


async def _ended(call: Call, job: get_run.Job | NotRun) -> TestCaseExecution | NotRun:
    if isinstance(job, NotRun):
        return job
    try:
        return await execution_of_job(call.engine, await get_run.stored_job(call.engine, job.id))
    except EvalsError as error:
        return _refused(call, job.subject_id, error)
