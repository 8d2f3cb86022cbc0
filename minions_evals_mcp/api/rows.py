"""Outputs scored without a store."""

from minions_evals_mcp.interop.row_answers import pick_output, score_output

__all__ = [
    "pick_output",
    "score_output",
]
