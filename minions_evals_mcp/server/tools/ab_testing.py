"""The tool that runs branches side by side."""

from __future__ import annotations

from functools import partial

from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.ab_test.estimate import estimate_ab_test
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, start_ab_test
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.edge import arguments
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.tools.running import begun


async def run_ab_test(call: Call, asked: arguments.RunAbTest) -> CallToolResult:
    """The A/B test, as far as it is when the wait ends."""
    request = AbTestRequest(
        test_case_id=asked.test_case_id,
        branch_ids=tuple(asked.branch_ids),
        prompt_version=asked.prompt_version,
        winner_criteria=asked.winner_criteria,
        iterations=asked.iterations,
        triggered_by=asked.triggered_by,
        key=asked.idempotency_key,
        max_cost_usd=asked.max_cost_usd,
    )
    if asked.dry_run:
        return await _estimated(call, request)
    return await begun(call, partial(start_ab_test, call.engine, request), asked.wait_seconds, asked.max_cost_usd)


async def _estimated(call: Call, request: AbTestRequest) -> CallToolResult:
    found = await estimate_ab_test(call.engine, request)
    cost = "of unknown price" if found.cost_usd is None else f"at most {found.cost_usd:.4f} USD"
    told: Json = {
        "summary": f"dry run: {found.model_calls} model calls, {cost}",
        "kind": "ab-test",
        "subjectId": request.test_case_id,
        "units": found.model_calls,
        "estimate": found.model_dump(mode="json"),
    }
    return answered(told)
