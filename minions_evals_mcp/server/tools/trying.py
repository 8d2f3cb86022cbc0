"""The tool that an optimiser asks: is this candidate better?"""

from __future__ import annotations

import json

import anyio
from mcp_types import CallToolResult

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.engine.trials.trial import TrialAnswer as Trial
from minions_evals_mcp.engine.trials.trial import TrialRequest
from minions_evals_mcp.engine.trials.trial import try_version as tried
from minions_evals_mcp.errors import StoppedError
from minions_evals_mcp.server.answers.comparison import approval_calls
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.trials import TrialAnswer, TryVersion

_DETAILS = {"judge", "max_score", "criteria", "passes", "pooled"}
"""Of the open part's summary: what an optimiser has little use for, and get_record shows."""


async def try_version(call: Call, arguments: TryVersion) -> CallToolResult:
    """Returns what came of the trial; one that takes longer than the wait goes on under its key."""
    fields = arguments.model_dump(by_alias=False, exclude={"idempotency_key", "wait_seconds", "target"})
    target = arguments.target or call.target
    key = arguments.idempotency_key or f"trial:{digest({**fields, 'target': target})}"
    request = TrialRequest.model_validate({**fields, "target": target, "key": key, "triggered_by": "mcp"})
    with anyio.move_on_after(arguments.wait_seconds):
        return answered(await _answer(call, request, await tried(call.engine, request)))
    raise StoppedError(
        f"the trial of {arguments.version} takes longer than {arguments.wait_seconds:g} s; what was judged is kept.",
        remedy=f"Call again with idempotencyKey {key}: it goes on.",
    )


async def _answer(call: Call, request: TrialRequest, trial: Trial) -> TrialAnswer:
    """Returns what came of the trial, without the details of its open part."""
    opened = None if trial.open is None else trial.open.model_dump(mode="json", exclude=_DETAILS)
    following = await _next(call, request, trial)
    return TrialAnswer.of(trial, without={"in_words"}, open=opened, summary=trial.in_words, next=following)


async def _next(call: Call, request: TrialRequest, trial: Trial) -> list[str]:
    """Returns the approval where the part that decides improved, else the call that asks the sealed part."""
    deciding = trial.sealed or (trial.open if trial.budget is None else None)
    if deciding is not None:
        return await approval_calls(call, deciding)
    if trial.open is None or trial.open.verdict != "improved" or trial.budget is None or not trial.budget.can_decide:
        return []
    arguments = {"benchmarkId": request.benchmark_id, "version": trial.version, "sealed": True}
    return [f"ask the sealed part, which decides and spends budget: try_version {json.dumps(arguments)}"]
