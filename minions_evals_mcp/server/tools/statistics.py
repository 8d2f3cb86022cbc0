"""The tool that reads figures: of a test case over time, of a prompt's cases, of a branch."""

from __future__ import annotations

from mcp_types import CallToolResult
from pydantic import BaseModel

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.engine.ab_test.branches import branch_configurations, branch_executions, branches_of_case
from minions_evals_mcp.engine.cases.test_history import (
    figures_of,
    test_case,
    test_case_executions,
    test_case_stats,
    test_cases,
    test_cases_of_skill,
)
from minions_evals_mcp.operations import plan_benchmark as planning
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.edge.derived import DerivedArguments
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.analysis import GetStatistics, PlanAnswer, StatisticsAnswer

NAMED = 'list_records {"type": "test-case", "fields": ["promptId"]}'
SHORT = ("id", "passed", "score", "warnings", "regressionType", "promptVersion", "latencyMs", "costUsd", "createdAt")


async def get_statistics(call: Call, arguments: GetStatistics) -> CallToolResult:
    """The figures that were asked for."""
    if arguments.prompt_id is not None:
        return await _of_prompt(call, arguments, arguments.prompt_id)
    if arguments.skill_id is not None:
        return await _of_skill(call, arguments, arguments.skill_id)
    if arguments.branch_id is not None:
        return await _of_branch(call, arguments, arguments.branch_id)
    assert arguments.test_case_id is not None
    if arguments.executions:
        return await _executions(call, arguments, arguments.test_case_id)
    return await _of_case(call, arguments, arguments.test_case_id)


async def plan_benchmark(call: Call, arguments: DerivedArguments) -> CallToolResult:
    """The plan for a benchmark's size."""
    plan = await planning.run(call.engine, arguments.request(planning.Request))
    return answered(PlanAnswer.of(plan, summary=plan.summary), shape=Shape("full"))


async def _of_case(call: Call, arguments: GetStatistics, ident: str) -> CallToolResult:
    stats = await test_case_stats(call.engine, ident, limit=arguments.limit)
    branches = await branches_of_case(call.engine, ident)
    case = await test_case(call.engine, ident)
    rate = "no runs yet" if stats.pass_rate is None else f"{stats.pass_rate:.3g} % passed"
    apart = (await test_case_executions(call.engine, ident, limit=1)).total - stats.total_runs
    left_out = (
        f" ({apart} more are not part of the history: from comparisons, further trials, or before its baseline)"
        if apart
        else ""
    )
    sentence = (
        f"test-case {ident}: {stats.total_runs} runs, {rate}{left_out}; {len(stats.regressions)} regressions shown"
    )
    answer = StatisticsAnswer.of(
        stats,
        summary=sentence,
        test_case=case,
        trend_data=stats.trend_data[-arguments.limit :],
        branches=[branch.flat() for branch in branches],
    )
    return answered(answer, shape=Shape(arguments.detail))


async def _executions(call: Call, arguments: GetStatistics, ident: str) -> CallToolResult:
    offset = cursor_of(arguments.cursor)
    page = await test_case_executions(call.engine, ident, limit=arguments.limit, offset=offset)
    rows = [_row(execution, arguments) for execution in page.executions]
    sentence = f"{len(rows)} of {page.total} runs of {ident}"
    answer = StatisticsAnswer(summary=sentence, test_case_id=ident, executions=rows)
    more = offset + len(rows) < page.total
    return answered(answer, shape=Shape(arguments.detail, offset=offset), pages=Pages(("executions",), more))


async def _of_prompt(call: Call, arguments: GetStatistics, prompt_id: str) -> CallToolResult:
    summaries = await test_cases(call.engine, prompt_id)
    sentence = f"{len(summaries)} test cases of the prompt {prompt_id}"
    if not summaries:
        return answered(StatisticsAnswer(summary=f"{sentence}: no case has this promptId", test_cases=[], next=[NAMED]))
    offset = cursor_of(arguments.cursor)
    shown = summaries[offset : offset + arguments.limit]
    more = len(summaries) > offset + arguments.limit
    answer = StatisticsAnswer(summary=sentence, test_cases=shown)
    return answered(answer, shape=Shape(arguments.detail, offset=offset), pages=Pages(("testCases",), more))


async def _of_skill(call: Call, arguments: GetStatistics, skill_id: str) -> CallToolResult:
    summaries = await test_cases_of_skill(call.engine, skill_id)
    figures = figures_of(summaries)
    rate = (
        "no runs yet" if figures.pass_rate is None else f"{figures.total_runs} runs, {figures.pass_rate:.3g} % passed"
    )
    offset = cursor_of(arguments.cursor)
    answer = StatisticsAnswer(
        summary=f"{figures.cases} test cases of the skill {skill_id}: {rate}",
        test_cases=summaries[offset : offset + arguments.limit],
        total_runs=figures.total_runs,
        pass_rate=figures.pass_rate,
        avg_score=figures.avg_score,
    )
    more = len(summaries) > offset + arguments.limit
    return answered(answer, shape=Shape(arguments.detail, offset=offset), pages=Pages(("testCases",), more))


async def _of_branch(call: Call, arguments: GetStatistics, branch_id: str) -> CallToolResult:
    offset = cursor_of(arguments.cursor)
    executions = await branch_executions(call.engine, branch_id, limit=arguments.limit + 1, offset=offset)
    rows: list[Json] = [execution.flat() for execution in executions[: arguments.limit]]
    configured = await branch_configurations(call.engine, branch_id)
    answer = StatisticsAnswer(
        summary=f"{len(rows)} executions of {branch_id}, newest first", configurations=configured, executions=rows
    )
    return answered(
        answer,
        shape=Shape(arguments.detail, offset=offset),
        pages=Pages(("executions",), len(executions) > arguments.limit),
    )


def _row(model: BaseModel, arguments: GetStatistics) -> Json:
    wire = model.model_dump(mode="json")
    return wire if arguments.detail == "full" else {name: wire[name] for name in SHORT if wire[name] != []}
