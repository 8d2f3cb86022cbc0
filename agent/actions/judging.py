"""Messages that have something judged: a case, a benchmark, what an agent produced, a person's answer."""

from __future__ import annotations

from functools import partial

from agent.message_work import MessageWork
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outputs import CAPTURE, NOT_RECORDED
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.planning import model_of
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark as carry_out
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.messages import payloads
from minions_evals_mcp.messages.take_decision import take_decision
from minions_evals_mcp.operations import run_benchmark, run_test_case
from minions_evals_mcp.operations.agent_work import verdict_of
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.store import records
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.matching_cases import cases_with_inputs


async def judge_case(work: MessageWork) -> Json:
    """run-test-case: one case is judged."""
    request = work.request("run-test-case", run_test_case.Request)
    return await _run_said(work, await run_test_case.run(work.engine, request, default_target=work.target))


async def judge_benchmark(work: MessageWork) -> Json:
    """run-benchmark: a benchmark is run, and a regression told."""
    request = work.request("run-benchmark", run_benchmark.Request)
    return await _run_said(work, await run_benchmark.run(work.engine, request, default_target=work.target))


async def judge_on_schedule(work: MessageWork) -> Json:
    """schedule: a benchmark is run because its time has come."""
    ident = work.payload_as(payloads.ScheduleDue).benchmark_id
    request = RunRequest(
        subject_id=ident,
        target=work.target,
        recorded=True,
        triggered_by=f"schedule:{ident}",
        purpose="scheduled",
        key=work.key,
    )
    return await _run_said(work, await carry_out(work.engine, request))


async def _run_said(work: MessageWork, job: Job) -> Json:
    wire = await verdict_of(work.engine, job)
    default = work.engine.default_judge_said(model_of(job))
    return {**wire, "judge": default} if default else wire


async def judge_agent_run(work: MessageWork) -> Json:
    """agent-run-completed: what an agent produced is recorded as it is, and judged by every case that asked for it."""
    payload = work.payload_as(payloads.AgentRunCompleted)
    run = await _recorded(work, payload)
    if run.fields.status in {"running", "pending-approval"}:
        raise BadInputError(
            f"the agent-run {run.id} is {run.fields.status}.", remedy="Send the message once it has completed."
        )
    cases = [payload.test_case_id] if payload.test_case_id else await _asking_cases(work.engine, run)
    done: dict[str, Job] = {}
    for case_id in cases:
        request = run_test_case.Request(
            test_case_id=case_id, agent_run_id=run.id, judge=payload.judge, triggered_by=run.fields.agent_id,
            key=f"{work.key}:{case_id}",
        )  # fmt: skip
        done[case_id] = await run_test_case.run(work.engine, request)
    verdicts: Json = {case_id: await _run_said(work, job) for case_id, job in done.items()}
    ids: Json = {case_id: job.id for case_id, job in done.items()}
    note: Json = {} if done else {"note": _why_unjudged(run)}
    return {"agentRunId": run.id, "runs": ids, "verdicts": verdicts, **note}


def _why_unjudged(run: Record[AgentRun]) -> str:
    if run.fields.stop_reason == NOT_RECORDED:
        return f"its output was not recorded: {CAPTURE}"
    keys = ", ".join(run.fields.inputs) or "none"
    return (
        f"no active case of {run.fields.agent_id}, or without an agent, has exactly its inputs (keys: {keys}; `minions-evals show"
        f" {run.id}`): save one, or judge every trace by a rubric with --otlp-rubric"
    )


async def _recorded(work: MessageWork, completed: payloads.AgentRunCompleted) -> Record[AgentRun]:
    ident = completed.agent_run_id
    if ident is None:
        name = f"agent-run:{text_digest(work.message.id)}"
        arrived = completed.carried(name, now=work.message.sent_at)
        await save_records(work.engine, [Arrival(arrived)])
        ident = arrived.id
    require = partial(records.require, ident=ident, kind=AgentRun, remedy="Send the whole record as agentRun.")
    return await work.engine.store.read(require)


async def _asking_cases(engine: Engine, run: Record[AgentRun]) -> list[str]:
    return await engine.store.read(lambda db: cases_with_inputs(db, run.fields.inputs, agent_id=run.fields.agent_id))


async def take_answer(work: MessageWork) -> Json:
    """approval-decided: a person's scores become judgments."""
    decided = work.payload_as(payloads.ApprovalDecided)
    speaking = work.engine.speaking(await work.spoken_by(decided.decided_by))
    return await _run_said(work, await take_decision(speaking, decided))
