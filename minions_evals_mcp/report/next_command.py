"""The command that follows from what a run came to."""

from __future__ import annotations

from minions_evals_mcp.engine.answers.names import short_id
from minions_evals_mcp.engine.answers.run_summary import RunSummary


def next_command(summary: RunSummary) -> str:
    """What to type after `minions-evals`; empty where the run is not over, which says itself how it goes on."""
    if summary.state != "completed":
        return ""
    if summary.kind == "test-case":
        return f"history {summary.subject_id}"
    before = None if summary.regression is None else summary.regression.get("previousRunId")
    if isinstance(before, str):
        return f"diff {short_id(before)} {short_id(summary.run_id)}"
    if summary.failures or summary.unscored:
        return f"report {short_id(summary.run_id)} -o report.html"
    is_point = summary.benchmark_run is not None and summary.benchmark_run.get("purpose") != "comparison"
    return f"trend {summary.subject_id}" if is_point else "view"
