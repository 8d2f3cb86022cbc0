"""The tool that reads figures: of a test case over time, of a prompt's cases, of a branch."""

from __future__ import annotations

from mcp_types import CallToolResult
from pydantic import BaseModel

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.records import wire_fields
from minions_evals_mcp.engine.ab_test.branches import branch_configurations, branch_executions, branches_of_case
from minions_evals_mcp.engine.cases.test_history import test_case, test_case_executions, test_case_stats, test_cases
from minions_evals_mcp.server.answers.sizes import Pages, Shape, answered, cursor_of
from minions_evals_mcp.server.session.calls import Call
from minions_evals_mcp.server.signatures.analysis import GetStatistics, StatisticsAnswer

NAMED = 'list_records {"type": "test-case", "fields": ["promptId"]}'
SHORT = ("id", "passed", "score", "warnings", "regressionType", "promptVersion", "latencyMs", "costUsd", "createdAt")


async def get_statistics(call: Call, asked: GetStatistics) -> CallToolResult:
    """The figures that were asked for."""
    if asked.prompt_id is not None:
        return await _of_prompt(call, asked, asked.prompt_id)
    if asked.branch_id is not None:
        return await _of_branch(call, asked, asked.branch_id)
    assert asked.test_case_id is not None
    if asked.executions:
        return await _executions(call, asked, asked.test_case_id)
    return await _of_case(call, asked, asked.test_case_id)


async def _of_case(call: Call, asked: GetStatistics, ident: str) -> CallToolResult:
    found = await test_case_stats(call.engine, ident, limit=asked.limit)
    branches = await branches_of_case(call.engine, ident)
    case = await test_case(call.engine, ident)
    rate = "no runs yet" if found.pass_rate is None else f"{found.pass_rate:.3g} % passed"
    said = f"test-case {ident}: {found.total_runs} runs, {rate}; {len(found.regressions)} regressions shown"
    told = StatisticsAnswer.of(
        found,
        summary=said,
        test_case=case,
        trend_data=found.trend_data[-asked.limit :],
        branches=[{"id": one.id, **wire_fields(one.fields)} for one in branches],
    )
    return answered(told, shape=Shape(asked.detail))


async def _executions(call: Call, asked: GetStatistics, ident: str) -> CallToolResult:
    offset = cursor_of(asked.cursor)
    page = await test_case_executions(call.engine, ident, limit=asked.limit, offset=offset)
    rows = [_row(one, asked) for one in page.executions]
    said = f"{len(rows)} of {page.total} runs of {ident}"
    told = StatisticsAnswer(summary=said, test_case_id=ident, executions=rows)
    more = offset + len(rows) < page.total
    return answered(told, shape=Shape(asked.detail, offset=offset), pages=Pages(("executions",), more))


async def _of_prompt(call: Call, asked: GetStatistics, prompt_id: str) -> CallToolResult:
    found = await test_cases(call.engine, prompt_id)
    said = f"{len(found)} test cases of the prompt {prompt_id}"
    if not found:
        return answered(StatisticsAnswer(summary=f"{said}: none has it as its promptId", test_cases=[], next=[NAMED]))
    offset = cursor_of(asked.cursor)
    shown = found[offset : offset + asked.limit]
    more = len(found) > offset + asked.limit
    told = StatisticsAnswer(summary=said, test_cases=shown)
    return answered(told, shape=Shape(asked.detail, offset=offset), pages=Pages(("testCases",), more))


async def _of_branch(call: Call, asked: GetStatistics, branch_id: str) -> CallToolResult:
    offset = cursor_of(asked.cursor)
    found = await branch_executions(call.engine, branch_id, limit=asked.limit + 1, offset=offset)
    rows: list[Json] = [{"id": one.id, **wire_fields(one.fields)} for one in found[: asked.limit]]
    configured = await branch_configurations(call.engine, branch_id)
    told = StatisticsAnswer(
        summary=f"{len(rows)} executions of {branch_id}, newest first", configurations=configured, executions=rows
    )
    return answered(
        told, shape=Shape(asked.detail, offset=offset), pages=Pages(("executions",), len(found) > asked.limit)
    )


def _row(one: BaseModel, asked: GetStatistics) -> Json:
    wire = one.model_dump(mode="json")
    return wire if asked.detail == "full" else {name: wire[name] for name in SHORT if wire[name] != []}
