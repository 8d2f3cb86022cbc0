"""The tool that compares two prompt versions."""

from __future__ import annotations

from functools import partial

from mcp_types import CallToolResult

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs, start_comparison
from minions_evals_mcp.engine.jobs import find_benchmark_run
from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest
from minions_evals_mcp.engine.run.estimate import Estimate, estimate
from minions_evals_mcp.server.answers.comparison import verdict_answer
from minions_evals_mcp.server.answers.dry_run import dry_line
from minions_evals_mcp.server.answers.sizes import answered
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.runs import ComparePromptVersions, RunAnswer
from minions_evals_mcp.server.tools.running import begun


async def compare_prompt_versions(call: Call, arguments: ComparePromptVersions) -> CallToolResult:
    """The comparison's run, as far as it is when the wait ends; that of two stored runs is made at once."""
    if arguments.run_ids is not None:
        run_a, run_b = [await find_benchmark_run(call.engine, run_id) for run_id in arguments.run_ids]
        made = await compare_runs(call.engine, run_a, run_b, tie_threshold=arguments.tie_threshold)
        return await verdict_answer(call, made.id)
    request = ComparisonRequest.asked_with_default(arguments, call.target, key=arguments.idempotency_key)
    if arguments.dry_run:
        return await _estimated(call, request)
    return await begun(
        call, partial(start_comparison, call.engine, request), arguments.wait_seconds, arguments.max_cost_usd
    )


async def _estimated(call: Call, request: ComparisonRequest) -> CallToolResult:
    a, b = [await _side(call, request, version) for version in (request.version_a, request.version_b)]
    sides: Json = {request.version_a: a.model_dump(mode="json"), request.version_b: b.model_dump(mode="json")}
    units = a.units + b.units
    return answered(
        RunAnswer(
            summary=dry_line(a, b), kind="comparison", subject_id=request.benchmark_id, units=units, estimate=sides
        )
    )


async def _side(call: Call, request: ComparisonRequest, version: str) -> Estimate:
    run = RunRequest.asked_by(
        request, subject_id=request.benchmark_id, prompt_version_ref=version, key=None, max_cost_usd=None
    )
    return await estimate(call.engine, run, kind="benchmark")
