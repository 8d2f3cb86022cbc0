"""Checks of what an agent did: the tools that it called, in which order, with which arguments, and how it ended.

The steps are those of the output's trace where its config traces calls, else the agent-run's `toolCallsLog`. Where promptfoo
0.123.1 and we differ:
- There a missing trace ends the test in an error; here a log that nobody recorded makes the output not judgeable, and an
  empty log is no steps.
- A log has steps of type `tool` and `command` only (a call of `shell`, `local_shell` or `exec_command` that holds a
  command is one); `message`, `reasoning`, `search` and `span`, which a trace has, are refused, not counted as none.
- `tool-call-f1` reads the log, and the output only where the log is empty or was not recorded, where an output without calls
  is not judgeable; in promptfoo's configs the output as it was transformed, as there. Empty names in its `value` are left out.
- Keys and modes that are not known are refused when they are read; there they are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import wraps

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import NEGATION, Assertion
from minions_evals_mcp.domain.worlds import UNREACHED
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.text import listed
from minions_evals_mcp.scoring.assertions.trajectories.span_steps import is_traced, spans_of, steps_of_spans
from minions_evals_mcp.scoring.assertions.trajectories.steps import (
    MATCHER_KEYS,
    STEP_TYPES,
    CalledStep,
    Matcher,
    items,
    mapping,
    matcher_of,
    same,
    steps_of,
    texts,
    traced_only,
    vet_matcher,
    vet_object,
    vet_pattern,
    without,
)
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.lenient import parsed
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

MATCH = "trajectory:match"
NOT_RECORDED = Unmet(
    "the tool calls of this output were not recorded: mark the tools with @tool, or give Output(text, tool_calls=[…]);"
    " in a file, toolCallsLog",
    not_judgeable=True,
)

NO_REASON = Unmet("the finish reason is unknown", not_judgeable=True)


def on_log(
    check: Callable[[Assertion, Subject, Evidence], UnweightedResult | Unmet],
) -> Callable[[Assertion, Subject, Evidence], UnweightedResult | Unmet]:
    """The check of a log: where nobody recorded one there is nothing to judge, and no verdict."""

    @wraps(check)
    def checked(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
        return NOT_RECORDED if subject.tool_calls is None else hinted(check(assertion, subject, evidence), subject)

    return checked


def on_steps(
    check: Callable[[Assertion, Sequence[CalledStep]], UnweightedResult],
) -> Callable[[Assertion, Subject, Evidence], UnweightedResult | Unmet]:
    """The check of the output's steps: where they are not known there is nothing to judge, and no verdict."""

    @wraps(check)
    def checked(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
        steps = _steps(assertion, subject)
        return steps if isinstance(steps, Unmet) else hinted(check(assertion, steps), subject)

    return checked


def hinted(result: UnweightedResult | Unmet, subject: Subject) -> UnweightedResult | Unmet:
    """The result; a failed one says that the agent never connected to the servers of its world, where it did not."""
    if not subject.unreached or not isinstance(result, UnweightedResult) or result.passed:
        return result
    return result._replace(reason=f"{result.reason}; {UNREACHED}")


def _steps(assertion: Assertion, subject: Subject) -> Sequence[CalledStep] | Unmet:
    if is_traced(subject):
        spans = spans_of(subject)
        return spans if isinstance(spans, Unmet) else steps_of_spans(spans)
    if subject.tool_calls is None:
        return NOT_RECORDED
    if foreign := traced_only(assertion.value):
        return Unmet(f"a log of tool calls has no steps of the type {foreign!r}, which a trace has")
    return steps_of(subject.tool_calls)


def finish_reason(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The model stopped for the reason `value` ("stop", "length", "tool_calls", …), whatever the case.

    Where no reason is known there is no verdict. In a config of promptfoo's it is not that one, as there, so that
    `not-finish-reason` passes.
    """
    if not subject.finish_reason:
        return UnweightedResult(passed=False, reason=NO_REASON.reason) if subject.of_config else NO_REASON
    passed = subject.finish_reason.lower() == str(assertion.value).lower()
    return UnweightedResult(
        passed, f"finish reason {excerpt(subject.finish_reason)}, looked for {excerpt(assertion.value)}"
    )


def tool_call_f1(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """F1 of the names of the tools called against those in `value` reaches `threshold` (default 1).

    Names count once, in any order. In a world, a tool that it does not have is refused, unless {name, outside: true} says that it is
    one of the agent's own. Under `not-` the score is 1 - F1; in a config of promptfoo's it is F1, as there.
    """
    wanted = set(_names(assertion.value))
    logged = set[str]() if subject.of_config else {call.tool for call in subject.tool_calls or ()}
    called = logged or _called_in(subject.text)
    if not called and subject.tool_calls is None and not subject.of_config:
        return NOT_RECORDED
    f1 = 2 * len(wanted & called) / (len(wanted) + len(called))
    threshold = 1.0 if assertion.threshold is None else assertion.threshold
    reason = f"F1 {f1:.3f}, threshold {threshold:g}; called {excerpt(', '.join(sorted(called)) or 'nothing')}"
    return UnweightedResult(f1 >= threshold, reason, f1, f1 if subject.of_config else None)


def tool_used(assertion: Assertion, steps: Sequence[CalledStep]) -> UnweightedResult:
    """Every tool in `value` (a pattern or a list of them) was called; {name, min, max}: that often (default min 1).

    `not-` with patterns passes only where none of them was called, as in promptfoo: with several, both may fail. In a world, a tool
    that it does not have is refused, unless {name, outside: true} says that it is one of the agent's own.
    """
    steps = _tools(steps)
    if isinstance(assertion.value, dict):
        count = _count(steps, matcher_of(assertion.value, "tool"))
        return _within(assertion.value, count, least=1)
    patterns = texts(assertion.value)
    used = [pattern for pattern in patterns if _count(steps, Matcher(frozenset({"tool"}), pattern))]
    passed = bool(used) if assertion.negated else len(used) == len(patterns)
    return UnweightedResult(passed, f"called {len(used)} of {len(patterns)} tools; calls: {_calls(steps)}")


def tool_sequence(assertion: Assertion, steps: Sequence[CalledStep]) -> UnweightedResult:
    """The tools in `value` were called in that order, others between them or not; {steps, mode: "exact"}: only they."""
    value = assertion.value
    members = value if isinstance(value, dict) else {"steps": value}
    wanted = [matcher_of(step, "tool") for step in items(members.get("steps"))]
    steps = _tools(steps)
    calls_made = f"calls: {_calls(steps)}"
    if members.get("mode") == "exact":
        exact = len(steps) == len(wanted) and all(
            matcher.fits(step) for matcher, step in zip(wanted, steps, strict=True)
        )
        return UnweightedResult(exact, f"{'exactly' if exact else 'not exactly'} the {len(wanted)} tools; {calls_made}")
    reached = 0
    for step in steps:
        reached += reached < len(wanted) and wanted[reached].fits(step)
    return UnweightedResult(reached == len(wanted), f"{reached} of {len(wanted)} tools in order; {calls_made}")


def tool_args_match(assertion: Assertion, steps: Sequence[CalledStep]) -> UnweightedResult:
    """A call of the tool `name` has the arguments `args`: at least those (mode "partial") or only those ("exact").

    A list must be as long and fit element by element. `ignore` names arguments (patterns) that are left out on both
    sides, `defaults` gives values that a call may hold besides.
    """
    value = mapping(assertion.value)
    ignored = texts(value.get("ignore"))
    defaults = mapping(value.get("defaults", {}))
    wanted = value["args"] if "args" in value else value["arguments"]
    wanted = without(wanted, ignored) if isinstance(wanted, dict) else wanted
    fits = same if value.get("mode") == "exact" else _covers
    matcher = matcher_of(value, "tool")
    calls = [step for step in _tools(steps) if matcher.fits(step)]
    given = [step.arguments for step in calls if step.has_arguments]
    left = [
        _without_defaults(without(arguments_given, ignored), defaults)
        if isinstance(arguments_given, dict)
        else arguments_given
        for arguments_given in given
    ]
    passed = any(fits(arguments, wanted) for arguments in left)
    fit = "a call has" if passed else "no call has"
    return UnweightedResult(
        passed, f"{fit} the arguments {excerpt(json.dumps(wanted))}; {len(calls)} calls of {matcher.pattern!r}"
    )


def step_count(assertion: Assertion, steps: Sequence[CalledStep]) -> UnweightedResult:
    """The number of steps (of {type, name} where given) lies in {min, max}, both inclusive, at least one of them.

    `failed` counts only calls that ended with an error, or with false only those that did not.
    """
    value = mapping(assertion.value)
    wanted = value.get("failed")
    counted = steps if wanted is None else [step for step in steps if step.failed == wanted]
    return _within(value, _count(counted, matcher_of(value, "")), least=0)


_OF_STEPS = ("trajectory:", NEGATION + "trajectory:")


def refuse_traced(assertion: Assertion, *, at: str = "") -> None:
    """Refuses steps that only a trace has, in the assertion or one inside it: an output of a suite's has a log."""
    for inner in assertion.assertions:
        refuse_traced(inner, at=at)
    is_read_so = assertion.type.startswith(_OF_STEPS) and assertion.base_type != MATCH
    foreign = traced_only(assertion.value) if is_read_so else ""
    if foreign:
        types = ", ".join(sorted(STEP_TYPES))
        why = f"{foreign!r} is not in the log of tool calls; it has {types}"
        raise InvalidRecordError(why, field="value.type", record=assertion.type, where=at)


def vet_reason(assertion: Assertion) -> None:
    """Refuses a `value` that is no text."""
    if not isinstance(assertion.value, str) or not assertion.value:
        raise InvalidRecordError(f"must be a finish reason, not {excerpt(assertion.value)}", field="value")


def vet_names(assertion: Assertion) -> None:
    """Refuses a `value` that names no tool."""
    match assertion.value:
        case str() | list():
            names = _names(assertion.value)
        case _:
            names = []
    if not names:
        raise InvalidRecordError(f"must name tools, not {excerpt(assertion.value)}", field="value")


def vet_used(assertion: Assertion) -> None:
    """Refuses a `value` that is no pattern, no list of patterns and no {name, min, max}."""
    if isinstance(assertion.value, dict):
        vet_matcher(assertion.value, {"min", "max"}, named=True)
        _vet_range(assertion.value)
    else:
        patterns = items(assertion.value) if isinstance(assertion.value, list) else [assertion.value]
        _vet_steps([pattern if isinstance(pattern, str) else None for pattern in patterns])


def vet_sequence(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a list of steps nor {steps, mode}."""
    value = assertion.value
    if isinstance(value, list):
        _vet_steps(value)
        return
    members = vet_object(value, {"steps", "mode"})
    _vet_choice(members, "mode", ("in_order", "exact"))
    _vet_steps(items(members.get("steps")))


def vet_arguments(assertion: Assertion) -> None:
    """Refuses a `value` that is no {name, args, mode, defaults, ignore} with the first two."""
    value = vet_object(assertion.value, {"args", "arguments", "mode", "defaults", "ignore", *MATCHER_KEYS})
    vet_matcher(value, set(value), named=True)
    if "args" not in value and "arguments" not in value:
        raise InvalidRecordError('must have "args"', field="value")
    _vet_choice(value, "mode", ("partial", "exact"))
    if not isinstance(value.get("defaults", {}), dict):
        raise InvalidRecordError("must map arguments to values", field="value.defaults")
    ignored = value.get("ignore", [])
    for entry in ignored if isinstance(ignored, list) else [ignored]:
        vet_pattern(entry, "value.ignore")


def vet_step_count(assertion: Assertion) -> None:
    """Refuses a `value` without `min` and `max`."""
    value = vet_object(assertion.value, {"min", "max", "failed", *MATCHER_KEYS})
    vet_matcher(value, {"min", "max", "failed"}, named=False)
    if not isinstance(value.get("failed", True), bool):
        raise InvalidRecordError("must be true or false", field="value.failed")
    if "min" not in value and "max" not in value:
        raise InvalidRecordError('must have "min" or "max"', field="value")
    _vet_range(value)


def _tools(steps: Sequence[CalledStep]) -> list[CalledStep]:
    return [step for step in steps if step.type == "tool"]


def _count(steps: Sequence[CalledStep], matcher: Matcher) -> int:
    return sum(matcher.fits(step) for step in steps)


def _within(value: dict[str, JsonValue], count: int, *, least: int) -> UnweightedResult:
    low, high = value.get("min", least), value.get("max")
    passed = (not isinstance(low, int | float) or count >= low) and (not isinstance(high, int | float) or count <= high)
    return UnweightedResult(passed, f"{count} steps, wanted {low} to {'any' if high is None else high}")


def _calls(steps: Sequence[CalledStep]) -> str:
    return excerpt(", ".join(step.names[0] for step in steps) or "none", 200)


def _without_defaults(arguments: dict[str, JsonValue], defaults: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        key: argument for key, argument in arguments.items() if key not in defaults or not same(argument, defaults[key])
    }


def _covers(actual: JsonValue, wanted: JsonValue) -> bool:
    match actual, wanted:
        case list(), list():
            return len(actual) == len(wanted) and all(map(_covers, actual, wanted))
        case dict(), dict():
            return all(key in actual and _covers(actual[key], part) for key, part in wanted.items())
        case _:
            return same(actual, wanted)


def _names(value: JsonValue) -> list[str]:
    names = value if isinstance(value, list) else str(value).split(",")
    texts_given = listed([mapping(name).get("name", name) for name in names])
    return [name.strip() for name in texts_given if name.strip()]


def _called_in(text: str) -> set[str]:
    """The tools that an output calls in the forms of OpenAI, Anthropic and Google: as a whole, or line by line."""
    try:
        return set(_called(parsed(text)))
    except json.JSONDecodeError:
        lines = [line.strip() for line in text.split("\n")]
    names: set[str] = set()
    for line in lines:
        try:
            names |= {*_called(parsed(line))} if line.startswith(("{", "[")) else set()
        except json.JSONDecodeError:
            continue
    return names


def _called(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [*_called_in(value)]
    if isinstance(value, list):
        return [name for block in value if isinstance(block, dict) for name in _called_by(block, "name")]
    if not isinstance(value, dict):
        return []
    if isinstance(calls := value.get("tool_calls"), list):
        both = [(mapping(call).get("function"), call) for call in calls]
        return [name for pair in both for call in pair for name in _name(call)]
    if isinstance(turn := value.get("toolCall"), dict) and not isinstance(value.get("functionCall"), dict):
        return [name for call in items(turn.get("functionCalls")) for name in _name(call)]
    return _called_by(value, "")


def _called_by(block: dict[str, JsonValue], plain: str) -> list[str]:
    if block.get("type") == "tool_use" and isinstance(block.get("name"), str):
        return _name(block)
    for key in ("functionCall", "function") if plain else ("functionCall",):
        if isinstance(block.get(key), dict | list):
            return _name(block[key])
    return _name(block) if plain else []


def _name(call: JsonValue) -> list[str]:
    name = mapping(call).get("name")
    return [name] if isinstance(name, str) else []


def _vet_steps(steps: Sequence[JsonValue]) -> None:
    if not steps:
        raise InvalidRecordError("must have at least one step", field="value")
    for step in steps:
        if isinstance(step, dict):
            vet_matcher(step, (), named=True)
        else:
            vet_pattern(step, "value")


def _vet_choice(value: dict[str, JsonValue], key: str, choices: Sequence[str]) -> None:
    if value.get(key, choices[0]) not in choices:
        raise InvalidRecordError(
            f"must be one of {', '.join(choices)}, not {excerpt(value[key])}", field=f"value.{key}"
        )


def _vet_range(value: dict[str, JsonValue]) -> None:
    for key in ("min", "max"):
        if isinstance(value.get(key, 0), bool) or not isinstance(value.get(key, 0), int | float):
            raise InvalidRecordError(f"must be a number, not {excerpt(value[key])}", field=f"value.{key}")


TYPES: dict[str, AssertionKind] = {
    "finish-reason": AssertionKind(finish_reason, vet_reason),
    "tool-call-f1": AssertionKind(tool_call_f1, vet_names),
    "trajectory:step-count": AssertionKind(on_steps(step_count), vet_step_count),
    "trajectory:tool-args-match": AssertionKind(on_steps(tool_args_match), vet_arguments),
    "trajectory:tool-sequence": AssertionKind(on_steps(tool_sequence), vet_sequence),
    "trajectory:tool-used": AssertionKind(on_steps(tool_used), vet_used),
}
