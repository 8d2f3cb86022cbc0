"""Messages that have something judged: a case, a benchmark, what an agent produced, a person's answer."""

from __future__ import annotations

from functools import partial

from agent.message_work import Asked
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.messages import payloads
from minions_evals_mcp.engine.messages.take_decision import take_decision
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.planning import model_of
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.engine.run.run_test_case import run_test_case
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.store import records, runs
from minions_evals_mcp.store.jobs import Job
from minions_evals_mcp.store.queries.matching_cases import cases_with_inputs


async def judge_case(asked: Asked) -> Json:
    """run-test-case: one case is judged."""
    said = asked.said(payloads.RunTestCase)
    return await _run_said(asked, await run_test_case(asked.engine, _request(asked, said, said.test_case_id)))


async def judge_benchmark(asked: Asked) -> Json:
    """run-benchmark: a benchmark is run, and a regression told."""
    said = asked.said(payloads.RunBenchmark)
    return await _run_said(asked, await run_benchmark(asked.engine, _request(asked, said, said.benchmark_id)))


def _request(asked: Asked, said: payloads.Running, subject_id: str) -> RunRequest:
    target, by = said.target or asked.target, asked.by(said.triggered_by)
    return RunRequest.asked_by(said, subject_id=subject_id, target=target, triggered_by=by, key=asked.key)


async def judge_on_schedule(asked: Asked) -> Json:
    """schedule: a benchmark is run because its time has come."""
    ident = asked.said(payloads.ScheduleDue).benchmark_id
    request = RunRequest(
        subject_id=ident, target=asked.target, triggered_by=f"schedule:{ident}", purpose="scheduled", key=asked.key
    )
    return await _run_said(asked, await run_benchmark(asked.engine, request))


async def _run_said(asked: Asked, job: Job) -> Json:
    said: Json = {"runId": job.id, "state": job.state, "reason": job.reason}
    if default := asked.engine.default_judge_said(model_of(job)):
        said["judge"] = default
    run = await asked.engine.store.read(lambda db: runs.benchmark_run(db, job.id))
    if run is None:
        return said
    fields = run.fields
    figures: Json = {
        "overallScore": fields.overall_score, "passRate": fields.pass_rate, "passed": fields.passed,
        "isRegression": fields.is_regression, "evidence": fields.evidence,
    }  # fmt: skip
    return {**said, **figures}


async def judge_agent_run(asked: Asked) -> Json:
    """agent-run-completed: what an agent produced is recorded as it is, and judged by every case that asked for it."""
    said = asked.said(payloads.AgentRunCompleted)
    run = await _recorded(asked, said)
    if run.fields.status in {"running", "pending-approval"}:
        raise BadInputError(
            f"the agent-run {run.id} is {run.fields.status}.", remedy="Send the message once it has completed."
        )
    cases = [said.test_case_id] if said.test_case_id else await _asking_cases(asked.engine, run)
    done: dict[str, str] = {}
    for case_id in cases:
        request = RunRequest(
            subject_id=case_id, agent_run_id=run.id, judge=said.judge, triggered_by=run.fields.agent_id,
            key=f"{asked.key}:{case_id}",
        )  # fmt: skip
        done[case_id] = (await run_test_case(asked.engine, request)).id
    return {"agentRunId": run.id, "runs": {**done}, **({} if done else {"note": _why_unjudged(run)})}


def _why_unjudged(run: Record[AgentRun]) -> str:
    keys = ", ".join(run.fields.inputs) or "none"
    return (
        f"no active case of {run.fields.agent_id}, or of no agent in particular, has just its inputs (keys: {keys}; `minions-evals show"
        f" {run.id}`): save one, or have a rubric judge every trace with --otlp-rubric"
    )


async def _recorded(asked: Asked, said: payloads.AgentRunCompleted) -> Record[AgentRun]:
    ident = said.agent_run_id
    if ident is None:
        name = f"agent-run:{text_digest(asked.message.id)}"
        arrived = said.carried(name, now=asked.message.sent_at)
        await save_records(asked.engine, [Arrival(arrived)])
        ident = arrived.id
    require = partial(records.require, ident=ident, kind=AgentRun, remedy="Send the whole record as agentRun.")
    return await asked.engine.store.read(require)


async def _asking_cases(engine: Engine, run: Record[AgentRun]) -> list[str]:
    return await engine.store.read(lambda db: cases_with_inputs(db, run.fields.inputs, agent_id=run.fields.agent_id))


async def take_answer(asked: Asked) -> Json:
    """approval-decided: a person's scores become judgments."""
    decided = asked.said(payloads.ApprovalDecided)
    speaking = asked.engine.speaking(asked.spoken_by(decided.decided_by))
    return await _run_said(asked, await take_decision(speaking, decided))
