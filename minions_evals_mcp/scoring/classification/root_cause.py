"""The place where a failure began, told from the tool-call log: the likeliest finding, quoting the step that it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from minions_evals_mcp.domain.failing.failure_types import (
    ACT_CAUSE,
    FAILURE_TYPES,
    SPOKEN_CAUSE,
    TALK_CAUSE,
    FailureType,
)
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.formats import is_truncated
from minions_evals_mcp.scoring.failures.log import (
    MOST_STEPS,
    NAMED_FROM,
    Log,
    chance,
    most_likely,
    shape_of,
    unread_steps,
)
from minions_evals_mcp.scoring.failures.own_checks import act_failed, own_failed
from minions_evals_mcp.scoring.failures.steps import result, step
from minions_evals_mcp.scoring.failures.texts import cut
from minions_evals_mcp.scoring.failures.timeouts import RECORDED

_UNSURE: dict[str, str] = {
    "talk": "in conversations with a user, the step that stands out is the cause in only",
    "short relay": "in short exchanges among agents, the last answer is the cause in only",
    "long relay": "in long exchanges among agents, a repeated request is the cause in only",
    "crew": "where agents call tools, the step that stands out is the cause in only",
    "request": "the step that stands out in a log is the cause in only",
}
"""Why no step is named, by the shape of the log; the share follows."""


def root_cause(failed: FailedOutput, failure_type: FailureType, signals: Sequence[Signal]) -> str:
    """The place where the failure most likely began; says so where there is no log, no fault in it, or none that is likely enough."""
    if not failed.has_log:
        return f"There is no tool-call log; {_without_log(failed, failure_type, signals)}"
    finding = most_likely(failed, signals)
    if finding is not None:
        log = Log(failed)
        sure = chance(log)
        if sure >= NAMED_FROM:
            return finding.said
        why = f"{_UNSURE[shape_of(log)]} {100 * sure:.0f} %"
        return f"No step can be named ({why}); {_without_log(failed, failure_type, signals)}"
    if is_truncated(failed):
        return _stopped(failed)
    act = act_failed(failed)
    if act and failure_type == "wrong-output" and not failed.is_empty:
        return f"{ACT_CAUSE}: {act}"
    if not failed.tool_calls:
        return f"The agent made no call; {_without_log(failed, failure_type, signals)}"
    return f"{_read_through(failed)}; {_without_log(failed, failure_type, signals)}"


def _read_through(failed: FailedOutput) -> str:
    """That the log shows no fault, where each step could be checked; else which could not."""
    count = len(failed.tool_calls)
    last = f"{step(failed.tool_calls, count - 1)} gave {result(failed.tool_calls[-1])}"
    if count > MOST_STEPS:
        return f"Nothing wrong was found in the first {MOST_STEPS} steps of the log; the other {count - MOST_STEPS} were not read: {last}"
    unread = unread_steps(failed.tool_calls)
    if unread:
        which = f"step{'s' * (len(unread) > 1)} {', '.join(map(str, unread[:6]))}"
        return f"Nothing wrong was found in the log, but what {which} gave was not recorded: {last}"
    return f"The log shows no fault in its {count} step{'s' * (count > 1)}: {last}"


def _without_log(failed: FailedOutput, failure_type: FailureType, signals: Sequence[Signal]) -> str:
    """Returns what can be said of the cause from the output alone."""
    first = f" ({signals[0].quoted})" if signals else ""
    if is_truncated(failed):
        return _stopped(failed)
    if failed.agent_error:
        return f"the agent reported: {cut(failed.agent_error)}"
    cause = FAILURE_TYPES[failure_type].cause
    match failure_type:
        case "timeout":
            cause = SPOKEN_CAUSE if _is_only_spoken_of(signals) else cause
            return f"{cause}{_slowest(failed.tool_calls)}"
        case "wrong-output":
            cause = TALK_CAUSE if failed.is_talk else cause
            return "the agent gave no answer" if failed.is_empty else _of_own_checks(failed) or cause
        case _:
            return f"{cause}{first}"


def _is_only_spoken_of(signals: Sequence[Signal]) -> bool:
    """Whether the words of the answer, or of its judge, are all that shows a timeout."""
    return {signal.kind for signal in signals}.isdisjoint(RECORDED)


def _of_own_checks(failed: FailedOutput) -> str:
    """Returns which of the user's own checks failed, where no other did."""
    names = own_failed(failed)
    return f"the check{'s' * (len(names) > 1)} {' and '.join(names)} failed" if names else ""


def _slowest(calls: Sequence[ToolCall]) -> str:
    timed = [(call.duration_ms, place) for place, call in enumerate(calls) if call.duration_ms is not None]
    if not timed:
        return ""
    duration, place = max(timed)
    return f"; the slowest call, {step(calls, place)}, took {duration:.0f} ms"


def _stopped(failed: FailedOutput) -> str:
    return f"the model stopped at its token limit (stop reason {failed.stop_reason}), after “…{cut(failed.text[-60:])}”"
