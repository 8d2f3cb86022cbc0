"""The tool that compares two prompt versions."""

from __future__ import annotations

from functools import partial

from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.operations import compare_versions
from minions_evals_mcp.server.answers.comparison import verdict_answer
from minions_evals_mcp.server.answers.dry_run import dry_line
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.edge.derived import Starting
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import RunAnswer
from minions_evals_mcp.server.tools.running import begun


async def compare_prompt_versions(call: Call, arguments: Starting) -> CallToolResult:
    """The comparison's run, as far as it is when the wait ends; that of two stored runs is made at once."""
    request = arguments.request(compare_versions.Request)
    if request.run_ids is not None:
        return await verdict_answer(call, (await compare_versions.of_runs(call.engine, request)).id)
    if arguments.dry_run:
        return await _estimated(call, request)
    starting = partial(compare_versions.start, call.engine, request, default_target=call.target)
    return await begun(call, starting, arguments.wait_seconds, request.max_cost_usd)


async def _estimated(call: Call, request: compare_versions.Request) -> CallToolResult:
    estimates = await compare_versions.estimate(call.engine, request, default_target=call.target)
    sides: Json = {version: side.model_dump(mode="json") for version, side in estimates.items()}
    units = sum(side.units for side in estimates.values())
    return answered(
        RunAnswer(
            summary=dry_line(*estimates.values()), kind="comparison", subject_id=request.benchmark_id or "", units=units,
            estimate=sides,
        )
    )  # fmt: skip
