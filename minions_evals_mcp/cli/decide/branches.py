"""The branches of a test case, and their executions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from minions_evals_mcp.cli.session import DEFAULTS, Common, Limit, say, session
from minions_evals_mcp.engine.ab_test.branches import (
    BranchConfiguration,
    branch_configurations,
    branch_executions,
    branches_of_case,
)
from minions_evals_mcp.operations.ids import whole_id


async def branches(
    case: str, /, *, executions: str | None = None, limit: Limit = 20, offset: int = 0, common: Common = DEFAULTS
) -> int:
    """Show the branches of a test case with the summary of their executions, or one branch's newest executions.

    Example: minions-evals branches support/refund

    Parameters
    ----------
    case
        The test case.
    executions
        Show the executions of this branch, the newest first.
    limit
        Maximum number of executions shown.
    offset
        Skip this many of the newest executions.
    """
    async with session(common) as engine:
        case_branches = await branches_of_case(engine, await whole_id(engine, case, "test-case"))
        configured = {branch.id: await branch_configurations(engine, branch.id) for branch in case_branches}
        made = []
        if executions is not None:
            executions = await whole_id(engine, executions, "test-branch")
            made = await branch_executions(engine, executions, limit=limit, offset=offset)
    if common.json:
        name, shown = ("branches", case_branches) if executions is None else ("executions", made)
        say({name: [record.flat() for record in shown], **(_configurations(configured) if executions is None else {})})
        return 0
    from minions_evals_mcp.report.ab_tests import show_branches, show_executions  # noqa: PLC0415  rich is imported where a person looks

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
