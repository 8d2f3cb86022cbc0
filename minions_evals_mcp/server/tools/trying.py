"""The tool that an optimiser asks: is this candidate better?"""

from __future__ import annotations

import json
from collections.abc import Iterator

import anyio
from mcp_types import CallToolResult

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.engine.trials.trial import TrialAnswer as Trial
from minions_evals_mcp.engine.trials.trial import TrialRequest
from minions_evals_mcp.engine.trials.trial import try_version as tried
from minions_evals_mcp.errors import StoppedError
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.trials import TrialAnswer, TryVersion

_DETAILS = {"judge", "max_score", "criteria", "passes", "pooled"}
"""Of the open part's summary: what an optimiser has little use for, and get_record shows."""


async def try_version(call: Call, asked: TryVersion) -> CallToolResult:
    """What came of the trial; one that takes longer than the wait goes on under its key."""
    said = asked.model_dump(by_alias=False, exclude={"idempotency_key", "wait_seconds", "target"})
    target = asked.target or call.target
    key = asked.idempotency_key or f"trial:{digest({**said, 'target': target})}"
    request = TrialRequest.model_validate({**said, "target": target, "key": key, "triggered_by": "mcp"})
    with anyio.move_on_after(asked.wait_seconds):
        return answered(_answer(await tried(call.engine, request)))
    raise StoppedError(
        f"the trial of {asked.version} takes longer than {asked.wait_seconds:g} s; what was judged is kept.",
        remedy=f"Call again with idempotencyKey {key}: it goes on.",
    )


def _answer(found: Trial) -> TrialAnswer:
    """What came of the trial, without the details of its open part."""
    opened = None if found.open is None else found.open.model_dump(mode="json", exclude=_DETAILS)
    return TrialAnswer.of(found, without={"in_words"}, open=opened, summary=found.in_words, next=list(_next(found)))


def _next(found: Trial) -> Iterator[str]:
    if found.may_be_approved:
        made = found.sealed.comparison_id if found.sealed else found.open and found.open.comparison_id
        asked = {"promptVersionRef": found.version, "comparisonId": made, "decidedBy": "YOUR-ID"}
        yield f"approve_prompt_version {json.dumps(asked)}"
