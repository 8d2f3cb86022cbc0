"""A/B tests and their branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.cli.run.gates import BROKEN
from minions_evals_mcp.cli.run.run_options import Positive
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, say, session
from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.tagged_values import json_or_text
from minions_evals_mcp.engine.ab_test.branches import (
    BranchConfiguration,
    branch_configurations,
    branch_executions,
    branches_of_case,
)
from minions_evals_mcp.engine.ab_test.plan import LEAST
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, AbTestResult, InlineBranch, run_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.engine.records.save_records import get_record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.ab import Criterion


async def ab_test(
    case: str,
    /,
    *cases: str,
    branch: Annotated[list[str] | None, Parameter(negative="")] = None,
    inline: Annotated[list[str] | None, Parameter(negative="")] = None,
    criteria: Criterion = "best_quality",
    iterations: Positive = 1,
    prompt_version: str | None = None,
    embedder: str | None = None,
    max_cost_usd: float | None = None,
    key: str | None = None,
    triggered_by: str = "command-line",
    common: Common = DEFAULTS,
) -> int:
    """Run two to five branches side by side on a test case, on several, or on a benchmark, and say which wins, by what, and
    how sure that is.

    Quality is the likeness of the output to the expected one. Exit 3 if no branch brought an output.
    Example: minions-evals ab-test support/refund --branch refund/fast --branch refund/careful --iterations 5

    Parameters
    ----------
    case
        A test case, or a benchmark: its active cases.
    cases
        More test cases.
    branch
        A branch, by id; once for each, the control first. Without any every active branch of the case runs.
    inline
        A branch as PROVIDER:MODEL, with what it sends: anthropic:MODEL,temperature=0.2,max_tokens=500,name=cool.
    criteria
        What wins: best_quality, fastest, cheapest, best_value (quality for a dollar), or balanced (40 % quality, 30 %
        speed, 30 % cost).
    iterations
        How often: five or more say how often each branch wins.
    prompt_version
        The prompt's version: its number, its id, or latest; else the one that the case names, else the latest.
    embedder
        What measures likeness: wordllama, semantic or openai:MODEL (MINIONS_EVALS_EMBEDDER).
    max_cost_usd
        Stop before spending more than this.
    key
        Names the test: the same key resumes it and pays for nothing twice.
    triggered_by
        Who asks: an agent's, a person's or a schedule's id.
    """
    wire: dict[str, object] = {
        "branches": tuple(_inline(text) for text in inline or ()),
        "winner_criteria": criteria, "iterations": iterations, "prompt_version": prompt_version,
        "max_cost_usd": max_cost_usd, "key": key, "triggered_by": triggered_by,
    }  # fmt: skip
    async with session(common, embedder=embedder) as engine:
        ids = [await meant_id(engine, ident, "test-case", "benchmark") for ident in (case, *cases)]
        chosen = branch or ([] if inline else await _active(engine, ids[0]))
        request = _request({**wire, **await _about(engine, ids), "branch_ids": tuple(chosen)})
        with progress_line(common, engine) as progress:
            result = await run_ab_test(engine, request, progress=progress)
    _show(result, common)
    return 0 if any(branch.runs > branch.failures for branch in result.branches) else BROKEN


async def _active(engine: Engine, case_id: str) -> list[str]:
    """The active branches of the case, in the order in which they were made."""
    active = [branch.id for branch in await branches_of_case(engine, case_id) if branch.fields.is_active]
    if len(active) < LEAST:
        raise BadInputError(
            f"{case_id} has {len(active)} active branches; an A/B test takes two to five.",
            remedy="Import test-branch records: {testCaseId, name, provider, model}.",
        )
    return active


async def _about(engine: Engine, ids: Sequence[str]) -> dict[str, object]:
    """Returns what the ids name: a test case, several, or a benchmark."""
    if len(ids) > 1:
        return {"test_case_ids": tuple(ids)}
    record = await get_record(engine, ids[0])
    return {"benchmark_id" if isinstance(record.fields, Benchmark) else "test_case_id": ids[0]}


def _inline(text: str) -> InlineBranch:
    """A branch written as PROVIDER:MODEL,NAME=VALUE,…; raises `BadInputError`."""
    head, *parts = text.split(",")
    provider, _, model = head.partition(":")
    fields: dict[str, JsonValue] = {"name": text, "provider": provider, "model": model}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals:
            raise BadInputError(f"--inline {text}: {part} is no NAME=VALUE.", remedy="--help shows an example.")
        fields[name.strip()] = value if name.strip() == "name" else json_or_text(value)
    try:
        return InlineBranch.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadInputError(
            f"--inline {text}: {'.'.join(map(str, first['loc']))}: {first['msg']}.", remedy="--help shows an example."
        ) from None


def _request(fields: dict[str, object]) -> AbTestRequest:
    try:
        return AbTestRequest.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "branch_ids"
        shown = {"test_case_id": "CASE", "branch_ids": "--branch", "winner_criteria": "--criteria"}
        raise BadInputError(
            f"{shown.get(name, '--' + name.replace('_', '-'))}: {first['msg'].removeprefix('Value error, branchIds: ')}.",
            remedy="--help shows what an option takes; `minions-evals branches CASE` shows the branches.",
        ) from None


def _show(result: AbTestResult, common: Common) -> None:
    if common.json:
        say(result.model_dump(mode="json"))
        return
    from minions_evals_mcp.report.ab_tests import show_ab_test  # noqa: PLC0415  rich is imported where a person looks

    show_ab_test(result)


async def branches(
    case: str, /, *, executions: str | None = None, limit: Limit = 20, offset: int = 0, common: Common = DEFAULTS
) -> int:
    """Show the branches of a test case with what their executions add up to, or one branch's newest executions.

    Example: minions-evals branches support/refund

    Parameters
    ----------
    case
        The test case.
    executions
        Show the executions of this branch, the newest first.
    limit
        At most so many executions.
    offset
        Leave out so many of the newest executions.
    """
    async with session(common) as engine:
        case_branches = await branches_of_case(engine, await meant_id(engine, case, "test-case"))
        configured = {branch.id: await branch_configurations(engine, branch.id) for branch in case_branches}
        made = []
        if executions is not None:
            made = await branch_executions(engine, executions, limit=limit, offset=offset)
    if common.json:
        name, shown = ("branches", case_branches) if executions is None else ("executions", made)
        say({name: [record.wire() for record in shown], **(_configurations(configured) if executions is None else {})})
        return 0
    from minions_evals_mcp.report.ab_tests import show_branches, show_executions  # noqa: PLC0415  as above

    if executions is None:
        show_branches(case, case_branches, configured, common.db)
    else:
        show_executions(executions, made, common.db)
    return 0


def _configurations(configured: Mapping[str, Sequence[BranchConfiguration]]) -> dict[str, JsonValue]:
    """Each branch's figures under each configuration and version, the newest first."""
    return {
        "configurations": {
            ident: [configuration.model_dump(mode="json") for configuration in made]
            for ident, made in configured.items()
        }
    }
