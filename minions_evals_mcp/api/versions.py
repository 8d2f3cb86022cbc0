"""Prompt versions against each other, and which of them is approved."""

from minions_evals_mcp.api.requests import ComparisonRequest
from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions, compare_runs

__all__ = [
    "ApprovalAsked",
    "ComparisonRequest",
    "approve_prompt_version",
    "compare_prompt_versions",
    "compare_runs",
    "summarize_comparison",
]
