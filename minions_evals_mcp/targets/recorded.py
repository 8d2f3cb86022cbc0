"""Outputs that agents produced earlier: recorded agent-runs."""

from __future__ import annotations

import re

from minions_evals_mcp.domain.conversations import content_text
from minions_evals_mcp.domain.neighbours import AgentRun
from minions_evals_mcp.domain.outcomes import Observed, Skipped, TargetErrored
from minions_evals_mcp.domain.outputs import CAPTURE, NOT_RECORDED, is_erased
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.tagged_values import listed_values, obj

OUTAGE = re.compile(
    r"(?:^|\b(?:https?(?:/[\d.]+)?|status|code|error|response|returned|responded|answered|with|got))\W{0,3}(?:408|429|5\d\d)\b"
    r"(?=\W*$|\s*[:;,.()-]|\s+(?:from|for|on|by|at|after|too|request|server|internal|bad|service|gateway|overloaded|error))"
    r"|rate.?limit|quota|overloaded|too many requests|internal server error|service unavailable|bad gateway|gateway time"
    r"|connection (?:was )?(?:reset|refused|aborted|closed|lost|timed out|error)|connection ?error|socket hang up"
    r"|\bnetwork (?:is )?(?:error|failure|problem|outage|down|timeout|unreachable)|networkerror"
    r"|\bdns\b|name resolution|getaddrinfo|unreachable|\be(?:connreset|connrefused|timedout|notfound|ai_again|pipe)\b",
    re.IGNORECASE,
)
"""An error message that speaks of the agent's surroundings, not of the agent."""
LONGEST_SAID, MOST_SAID = 4_000, 200
"""So much of a user's message is read, and so many messages."""


def observed_run(run: Record[AgentRun], *, timeout_ms: int | None) -> Observed | Skipped | TargetErrored:
    """Returns what a recorded agent-run produced; an incomplete or erased one is skipped, and an outage is an error of the target."""
    fields = run.fields
    if fields.status in {"running", "pending-approval"}:
        why = f" ({fields.stop_reason})" if fields.stop_reason else ""
        return Skipped(f"agent-run {run.id} is {fields.status}{why}; run again when it is complete")
    if is_erased([fields.inputs, fields.outputs]):
        return Skipped(f"the content of agent-run {run.id} was erased")
    if fields.stop_reason == NOT_RECORDED and not fields.tool_calls_log:
        return Skipped(f"agent-run {run.id} has no recorded output: {CAPTURE}")
    latency = _latency_ms(fields)
    timed_out = timeout_ms is not None and latency is not None and latency > timeout_ms
    error = (fields.error_message or "the agent-run failed") if fields.status == "failed" else None
    if error is not None and (OUTAGE.search(error) or _is_sample(fields)):
        return TargetErrored(f"agent-run {run.id}: {error}")
    return Observed.trusted(
        output=fields.outputs,
        agent_run_id=run.id,
        prompt_version_ref=fields.prompt_version_ref,
        produced_by=fields.agent_id,
        latency_ms=latency,
        cost_usd=fields.cost,
        tool_calls=fields.tool_calls_log,
        finish_reason=fields.stop_reason,
        group=fields.group,
        agent_error=error,
        timed_out=timed_out,
        heard=heard(fields),
        recorded_scores=tuple(obj(score) for score in listed_values(fields.extra.get("foreignScores"))),
    )


def heard(run: AgentRun) -> tuple[str, ...]:
    """The user's messages in a recorded conversation; empty if it holds only the first request."""
    messages = [obj(message) for message in listed_values(run.extra.get("messages"))]
    said = [
        content_text(message.get("content", message.get("parts")))
        for message in messages
        if message.get("role") == "user"
    ]
    later = [str(obj(turn).get("text") or "") for turn in listed_values(run.extra.get("userTurns"))]
    told = tuple(text[:LONGEST_SAID] for text in (*said, *later) if text)[:MOST_SAID]
    return told if len(said) > 1 or later else ()


def _is_sample(run: AgentRun) -> bool:
    """Whether it is a sample of another tool's log: that tool recorded an error in place of a verdict."""
    return "case" in obj(run.extra.get("log"))


def _latency_ms(run: AgentRun) -> float | None:
    """The time it took; unknown where it is said to have ended before it began."""
    if run.triggered_at is None or run.completed_at is None or run.completed_at < run.triggered_at:
        return None
    return (run.completed_at - run.triggered_at).total_seconds() * 1000
