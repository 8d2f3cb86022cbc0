"""A trial's run in words for a model: where it is, and once it is made the verdicts and what follows from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mcp_types import CallToolResult

from minions_evals_mcp.operations import get_run, try_version
from minions_evals_mcp.server.answers.comparison import approval_calls
from minions_evals_mcp.server.answers.run import next_calls
from minions_evals_mcp.server.answers.sizes import Shape, answered
from minions_evals_mcp.server.edge.refusals import in_tools
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import RunAnswer

if TYPE_CHECKING:
    from minions_evals_mcp.operations.try_version import Answer

_DETAILS = {"open": {"judge", "max_score", "criteria", "passes", "pooled"}, "in_words": True}
"""Of the open part's comparison: what an optimiser has little use for, and get_record shows."""


async def trial_answer(call: Call, job: get_run.Job, shape: Shape) -> CallToolResult:
    """The state of the trial, and the result of its parts once it is made."""
    now = await get_run.stored_job(call.engine, job.id)
    state = "running" if call.runs.is_active(job.id) else now.state
    answer = RunAnswer(
        summary=f"trial {now.subject_id}: {state}", run_id=now.id, key=now.key, kind=now.kind, subject_id=now.subject_id,
        state=state, reason=in_tools(now.reason), units=now.total,
    )  # fmt: skip
    if state != "completed":
        summary = (await get_run.summary(call.engine, job.id, limit=1)).model_copy(update={"state": state})
        return answered(answer.model_copy(update={"next": list(next_calls(summary, now.spec))}), shape=shape)
    trial = await try_version.answer_of(call.engine, job.id)
    made = {
        "summary": f"trial {now.subject_id}: {trial.in_words}",
        "trial": trial.model_dump(mode="json", exclude=_DETAILS),
        "next": await _following(call, now, trial),
    }
    return answered(answer.model_copy(update=made), shape=shape)


async def _following(call: Call, job: get_run.Job, trial: Answer) -> list[str]:
    """The approval where the part that decides improved, else the call that asks the sealed part."""
    deciding = trial.sealed or (trial.open if trial.budget is None else None)
    if deciding is not None:
        return await approval_calls(call, deciding)
    if trial.open is None or trial.open.verdict != "improved" or trial.budget is None or not trial.budget.can_decide:
        return []
    arguments = {"benchmarkId": job.subject_id, "version": trial.version, "sealed": True}
    return [f"use the sealed part, which decides and spends error budget: try_version {json.dumps(arguments)}"]
