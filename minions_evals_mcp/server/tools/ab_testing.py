"""The tool that runs branches side by side."""

from __future__ import annotations

from functools import partial

from mcp_types import CallToolResult

from minions_evals_mcp.operations import ab_test
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.edge.derived import Starting
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import RunAnswer
from minions_evals_mcp.server.tools.running import begun


async def run_ab_test(call: Call, arguments: Starting) -> CallToolResult:
    """The A/B test, as far as it is when the wait ends."""
    request = arguments.request(ab_test.Request)
    if arguments.dry_run:
        return await _estimated(call, request)
    return await begun(call, partial(ab_test.start, call.engine, request), arguments.wait_seconds, request.max_cost_usd)


async def _estimated(call: Call, request: ab_test.Request) -> CallToolResult:
    estimate = await ab_test.estimate(call.engine, request)
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
