"""Where a failure began, told from the tool-call log: the first rule that fits, quoting the step that it rests on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import assert_never

from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.results import FailureType
from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.formats import is_truncated
from minions_evals_mcp.scoring.failures.mentions import squeezed
from minions_evals_mcp.scoring.failures.steps import gave_nothing, result, step
from minions_evals_mcp.scoring.failures.texts import cut, flat, leaves

TOOL_KEYS = frozenset(("tools", "availabletools", "available_tools", "functions", "toolnames", "tool"))
_UNKNOWN_TOOL = re.compile(
    r"(?:unknown|no such|unregistered|undefined|invalid) (?:tool|function)|(?:tool|function) (?:\S{1,64} )?"
    r"(?:not found|does not exist|is not (?:defined|available))",
    re.IGNORECASE,
)
_BAD_ARGUMENTS = re.compile(
    r"missing (?:\d+ )?required|required (?:argument|parameter|field|property)|unexpected (?:keyword )?argument"
    r"|invalid (?:argument|parameter|input|value|params)|bad request|validation error|\b(?:400|422)\b|must be an? "
    r"|is not of type|TypeError",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"<[^<>]{1,60}>|\{\{?[^{}]{1,60}\}\}?|\[(?:your|insert)[^\]]{1,60}\]|your[_ -][a-z_ -]{1,40}"
    r"|(?:todo|tbd|fixme)\b.{0,60}|x{3,}|string|example"
    r"|placeholder|foo|bar|example_?(?:id|name|value)|[\w.]{1,40}@example\.(?:com|org)|insert[_ ].{1,40}",
    re.IGNORECASE,
)
_NOTHING_FOUND = re.compile(r"\b(?:no|not|none|nothing|zero|empty|unable|couldn|cannot|can't|didn)\b", re.IGNORECASE)

Rule = Callable[[FailedOutput, Sequence[Signal]], str | None]


def root_cause(failed: FailedOutput, failure_type: FailureType, signals: Sequence[Signal]) -> str:
    """Where the failure most likely began; says so where there is no log, or where the log shows no fault."""
    if not failed.has_log:
        return f"There is no tool-call log; {_without_log(failed, failure_type, signals)}"
    for rule in RULES:
        cause = rule(failed, signals)
        if cause is not None:
            return cause
    if not failed.tool_calls:
        return f"The agent made no call; {_without_log(failed, failure_type, signals)}"
    count = len(failed.tool_calls)
    last = step(failed.tool_calls, count - 1)
    said = f"The log shows no fault in its {count} step{'s' * (count > 1)}: {last} gave {result(failed.tool_calls[-1])}"
    return f"{said}; {_without_log(failed, failure_type, signals)}"


def _unresolved_error(failed: FailedOutput, _: Sequence[Signal]) -> str | None:
    """The first error that no later success of the same tool made good."""
    last_success = {call.tool: place for place, call in enumerate(failed.tool_calls) if call.error is None}
    for place, call in enumerate(failed.tool_calls):
        if call.error is not None and last_success.get(call.tool, -1) < place:
            quoted, error = step(failed.tool_calls, place), cut(call.error or "no message")
            if _UNKNOWN_TOOL.search(call.error):
                return f"{quoted} called a tool that does not exist: {error}"
            if _BAD_ARGUMENTS.search(call.error):
                return f"{quoted} was called with bad arguments: {error}"
            return f"{quoted} failed: {error}; no later call of it succeeded"
    return None


def _repetition(failed: FailedOutput, _: Sequence[Signal]) -> str | None:
    keys = [(call.tool, canonical(call.arguments)) for call in failed.tool_calls]
    most = Counter(keys).most_common(1)
    if not most or most[0][1] < 3:
        return None
    (tool, arguments), count = most[0]
    first = keys.index((tool, arguments))
    return f"`{tool}` was called {count} times with the same arguments, first in step {first + 1}: {cut(arguments)}"


def _unoffered_tool(failed: FailedOutput, _: Sequence[Signal]) -> str | None:
    offered = _offered(failed)
    for place, call in enumerate(failed.tool_calls):
        if offered and call.tool not in offered:
            return f"{step(failed.tool_calls, place)} is not a tool that the inputs offer ({cut(', '.join(offered))})"
    return None


def _empty_result(failed: FailedOutput, signals: Sequence[Signal]) -> str | None:
    """An empty result that the answer goes on from, without a word of it."""
    if failed.is_empty or (_NOTHING_FOUND.search(failed.text) and not any(one.decides for one in signals)):
        return None
    filled = {call.tool: place for place, call in enumerate(failed.tool_calls) if not gave_nothing(call)}
    for place, call in enumerate(failed.tool_calls):
        if call.error is None and gave_nothing(call) and filled.get(call.tool, -1) < place:
            quoted = step(failed.tool_calls, place)
            return f"{quoted} gave an empty result ({result(call)}), and the answer uses it as data"
    return None


def _placeholder(failed: FailedOutput, _: Sequence[Signal]) -> str | None:
    given = {leaf for _, leaf in leaves(failed.inputs)}
    for place, call in enumerate(failed.tool_calls):
        for name, leaf in leaves(call.arguments):
            if isinstance(leaf, str) and leaf not in given and _PLACEHOLDER.fullmatch(leaf.strip()):
                return f"{step(failed.tool_calls, place)} was called with a placeholder: {name} = {cut(leaf)!r}"
    return None


def _claimed_result(failed: FailedOutput, signals: Sequence[Signal]) -> str | None:
    claim = next((one for one in signals if one.kind == "claim"), None)
    if claim is None:
        return None
    made = ", ".join(f"`{tool}`" for tool in dict.fromkeys(call.tool for call in failed.tool_calls)) or "none at all"
    return f"The answer says “{cut(claim.detail)}”, but the log has no call that did so; its calls: {cut(made)}"


def _needed_call(failed: FailedOutput, _: Sequence[Signal]) -> str | None:
    """No call, though the inputs offer tools and there is an answer that did without."""
    offered = _offered(failed)
    if failed.tool_calls or not offered:
        return None
    asked = squeezed(flat(failed.inputs))
    named = [tool for tool in offered if asked.count(squeezed(tool)) > 1]
    return f"The agent made no call, though the inputs {'name' if named else 'offer'} `{(named or offered)[0]}`"


def _truncation(failed: FailedOutput, _: Sequence[Signal]) -> str | None:
    return _stopped(failed) if is_truncated(failed) else None


def _ignored_result(failed: FailedOutput, _: Sequence[Signal]) -> str | None:
    """The newest result that holds what was expected, or a figure of it, where the answer does not."""
    whole = [squeezed(value_text(leaf)) for _, leaf in leaves(failed.expected) if not isinstance(leaf, bool | None)]
    figures = [word for one in whole for word in one.split() if any(map(str.isdigit, word))]
    said = f" {squeezed(failed.text)} "
    missed = [one for one in (*whole, *figures) if one and f" {one} " not in said]
    for place in range(len(failed.tool_calls) - 1, -1, -1):
        call = failed.tool_calls[place]
        heard = f" {squeezed(flat(call.result))} "
        if call.error is None and any(f" {one} " in heard for one in missed):
            return f"{step(failed.tool_calls, place)} gave the right result ({result(call)}), but the answer differs"
    return None


RULES: tuple[Rule, ...] = (
    _unresolved_error, _repetition, _unoffered_tool, _empty_result, _placeholder, _claimed_result, _needed_call,
    _truncation, _ignored_result,
)  # fmt: skip
"""In this order; the first that fits is the cause."""


def _without_log(failed: FailedOutput, failure_type: FailureType, signals: Sequence[Signal]) -> str:
    """What can be said of the cause from the output alone."""
    first = f" ({signals[0].shown})" if signals else ""
    if is_truncated(failed):
        return _stopped(failed)
    if failed.agent_error:
        return f"the agent reported: {cut(failed.agent_error)}"
    match failure_type:
        case "timeout":
            return f"the time limit passed before the agent was done{_slowest(failed.tool_calls)}"
        case "refusal":
            return f"the model declined the task{first}"
        case "format-error":
            return f"the reply is not in the form that was asked for{first}"
        case "hallucination":
            return f"the answer states what its material does not{first}"
        case "wrong-output":
            return "the agent gave no answer" if failed.is_empty else "the answer itself is wrong"
        case _:
            assert_never(failure_type)


def _slowest(calls: Sequence[ToolCall]) -> str:
    timed = [(call.duration_ms, place) for place, call in enumerate(calls) if call.duration_ms is not None]
    if not timed:
        return ""
    duration, place = max(timed)
    return f"; the slowest call, {step(calls, place)}, took {duration:.0f} ms"


def _stopped(failed: FailedOutput) -> str:
    return f"the model stopped at its token limit (stop reason {failed.stop_reason}), after “…{cut(failed.text[-60:])}”"


def _offered(failed: FailedOutput) -> tuple[str, ...]:
    """The tools that the inputs say the agent has, where they do."""
    for key, value in failed.inputs.items():
        if key.casefold() in TOOL_KEYS:
            names = [leaf for name, leaf in leaves(value) if isinstance(leaf, str) and name in ("", "name", "tool")]
            return tuple(name for name in names if name)
    return ()
