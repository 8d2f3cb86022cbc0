"""An A/B test's run in words for a model: who leads, how sure that is, and every branch by rank."""

from __future__ import annotations

from mcp_types import CallToolResult
from pydantic.main import IncEx

from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestResult, ab_test_result
from minions_evals_mcp.operations import get_run
from minions_evals_mcp.server.answers.run import next_calls
from minions_evals_mcp.server.answers.sizes import Shape, answered
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import RunAnswer

OF_THE_RUN: dict[str, IncEx | bool] = {"run_id": True, "key": True, "state": True}
"""What stands beside the test in the answer."""
SHORT: dict[str, IncEx | bool] = {**OF_THE_RUN, "branches": {"__all__": {"execution": True}}}
"""The executions are left to a longer answer: the branches' figures are their means."""


async def ab_test_answer(call: Call, job: get_run.Job, shape: Shape) -> CallToolResult:
    """Returns where the A/B test stands, its branches by rank so far."""
    now = await get_run.stored_job(call.engine, job.id)
    state = "running" if call.runs.is_active(job.id) else now.state
    result = await ab_test_result(call.engine, job.id)
    summary = (await get_run.summary(call.engine, job.id, limit=1)).model_copy(update={"state": state})
    answer = RunAnswer(
        summary=_line(result, state), run_id=now.id, key=now.key, kind=now.kind, subject_id=now.subject_id,
        state=state, reason=in_tools(now.reason), units=now.total,
        ab_test=result.model_dump(mode="json", exclude=SHORT if shape.detail == "summary" else OF_THE_RUN),
        next=list(next_calls(summary, now.spec)),
    )  # fmt: skip
    return answered(answer, shape=shape)


def _line(result: AbTestResult, state: str) -> str:
    about = result.benchmark_id or result.test_case_id or f"{result.test_cases} cases"
    sentence = f"A/B test {about}: {state}, {result.completed_iterations} of {result.iterations} iterations"
    if result.winner is None:
        return sentence
    sure = f"; evidence {result.evidence}" if result.evidence else ""
    return f"{sentence}; {result.winner.branch_id} wins by {result.criteria}{sure}"
