"""The tool that runs branches side by side."""

from __future__ import annotations

import json
from functools import partial

from mcp_types import CallToolResult
from pydantic import ValidationError

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.ab_test.estimate import estimate_ab_test
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, InlineBranch, start_ab_test
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import RunAbTest, RunAnswer
from minions_evals_mcp.server.tools.running import begun


async def run_ab_test(call: Call, arguments: RunAbTest) -> CallToolResult:
    """The A/B test, as far as it is when the wait ends."""
    request = AbTestRequest(
        test_case_id=arguments.test_case_id,
        test_case_ids=tuple(arguments.test_case_ids or ()),
        benchmark_id=arguments.benchmark_id,
        branch_ids=tuple(arguments.branch_ids),
        branches=tuple(_inline(branch) for branch in arguments.branches),
        prompt_version=arguments.prompt_version,
        winner_criteria=arguments.winner_criteria,
        iterations=arguments.iterations,
        triggered_by=arguments.triggered_by,
        key=arguments.idempotency_key,
        max_cost_usd=arguments.max_cost_usd,
    )
    if arguments.dry_run:
        return await _estimated(call, request)
    return await begun(
        call, partial(start_ab_test, call.engine, request), arguments.wait_seconds, arguments.max_cost_usd
    )


def _inline(branch: Json) -> InlineBranch:
    """A branch as it was given; raises `InvalidRecordError` naming the field that does not fit."""
    try:
        return InlineBranch.model_validate_json(json.dumps(branch))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, ("branches", *first["loc"])))
        raise InvalidRecordError(first["msg"], field=field) from None


async def _estimated(call: Call, request: AbTestRequest) -> CallToolResult:
    estimate = await estimate_ab_test(call.engine, request)
    cost = "of unknown price" if estimate.cost_usd is None else f"at most {estimate.cost_usd:.4f} USD"
    sentence = f"dry run: {estimate.model_calls} model calls, {cost}"
    return answered(
        RunAnswer(
            summary=sentence,
            kind="ab-test",
            subject_id=request.subject_id,
            units=estimate.model_calls,
            estimate=estimate,
        )
    )
