"""A test case's branches: model configurations that are tried against each other."""

from minions_evals_mcp.engine.ab_test.branches import (
    branch_executions,
    branches_of_case,
    create_branch,
    delete_branch,
    update_branch,
)

__all__ = [
    "branch_executions",
    "branches_of_case",
    "create_branch",
    "delete_branch",
    "update_branch",
]
