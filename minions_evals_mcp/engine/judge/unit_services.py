"""Answers of services on outputs of a run: reused where they are kept, else asked for and kept as they come.

They are kept as verdicts are, under the question; the rationale is the answer as JSON. Whether a service would say the same
again is its own affair but for a webhook, whose code is the user's: it is asked anew for every run.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import RubricCriterion
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.outcomes import UnitKey, Verdict
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.engine.judge.services import Answers
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.scoring.checks import ServiceNeed, Unmet
from minions_evals_mcp.store import jobs

Ask = Callable[[Sequence[ServiceNeed]], Awaitable[Answers]]


async def service_answers(
    verdicts: KeptVerdicts, ask: Ask, wanted: Sequence[ServiceNeed], key: UnitKey, work: Work
) -> Answers:
    """Returns what each says of the output, or why it says nothing."""
    known_answers: Answers = {}
    for webhooks in (True, False):
        needs = [need for need in dict.fromkeys(wanted) if (need.kind == "webhook") == webhooks]
        known_answers |= await _stored(replace(verdicts, fresh=webhooks or verdicts.fresh), needs, key, work)
    replies = await ask([need for need in dict.fromkeys(wanted) if need not in known_answers])
    for need, answer in replies.items():
        if not isinstance(answer, Unmet):
            await verdicts.keep(key, _about(need, work), _verdict(need, answer), verdicts.engine.clock())
    return {**known_answers, **replies}


async def _stored(verdicts: KeptVerdicts, needs: Sequence[ServiceNeed], key: UnitKey, work: Work) -> Answers:
    stored = await verdicts.stored([(key, _criterion(need).id, _about(need, work)) for need in needs])
    return {
        need: json.loads(answer[0].rationale)
        for need, answer in zip(needs, stored, strict=True)
        if answer is not None and isinstance(answer[0], Verdict)
    }


def _criterion(need: ServiceNeed) -> Criterion:
    criterion_id = digest([need.service, need.text, need.given])
    fields = RubricCriterion(rubric_id=need.kind, name=need.kind, description=criterion_id, max_score=1.0)
    return Criterion(f"{need.kind}:{criterion_id}", fields)


def _about(need: ServiceNeed, work: Work) -> jobs.VerdictKey:
    return jobs.VerdictKey(work.digest, _criterion(need).digest, digest({"service": need.service}))


def _verdict(need: ServiceNeed, answer: JsonValue) -> Verdict:
    answer_text = json.dumps(answer)
    return _criterion(need).verdict(0.0, answer_text, judged_by=need.kind, judged_by_type="heuristic", confidence=1.0)
