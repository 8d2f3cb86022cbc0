"""Failed outputs that tests of classification begin with."""

from __future__ import annotations

from dataclasses import replace

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.failures.failed import FailedCriterion, FailedOutput

QUIET = FailedOutput(
    output={"output": "blue"},
    text="blue",
    inputs={"question": "Which colour?"},
    expected={"output": "green"},
    tool_calls=(),
    has_log=False,
    timed_out=False,
    stop_reason=None,
    wants_json=False,
    agent_error=None,
    score_fraction=0.5,
    criteria=(),
)


def saying(text: str, base: FailedOutput = QUIET) -> FailedOutput:
    """The same failure with another output."""
    return replace(base, text=text, output={"output": text})


def logged(
    *calls: ToolCall, text: str = "blue", inputs: Json | None = None, expected: Json | None = None
) -> FailedOutput:
    """A failure with a log."""
    base = replace(QUIET, tool_calls=calls, has_log=True, inputs=inputs or QUIET.inputs, expected=expected)
    return saying(text, base)


def lost(name: str, fraction: float, weight: float, rationale: str = "not good") -> FailedCriterion:
    """One criterion's part."""
    return FailedCriterion(f"id-{name}", name, fraction, weight, rationale)


# ------------------------------------------------------------------ order, severity, what is kept
