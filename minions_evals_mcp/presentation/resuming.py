"""How a run that ended early is resumed, in the terms of an interface."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from minions_evals_mcp.engine.answers.run_summary import RunSummary
from minions_evals_mcp.engine.asking_again import resume_of
from minions_evals_mcp.engine.budget import HIGHER
from minions_evals_mcp.presentation.next_steps import Tools, tool_of


def resume_line(summary: RunSummary, spec: Mapping[str, JsonValue], terms: Tools) -> str:
    """The call that resumes the run, with all that it was started with; a cost cap that stopped it is doubled."""
    spent = summary.spent.get("costUsd", 0.0)
    cap = 2 * spent if HIGHER in summary.reason and spent else None
    step = resume_of(summary.kind, summary.subject_id, spec, summary.key, max_cost_usd=cap)
    return f"resume: {terms.call(step) if tool_of(step) else terms.sentence(step)}"
