"""Failures that go back to the same cause, as one: what it is called, what it cost, and what to do next (pure)."""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.failing.failure_types import (
    ACT_CAUSE,
    FAILURE_TYPES,
    SPOKEN_CAUSE,
    TALK_CAUSE,
    FailureType,
)
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.late_patterns import late

LONGEST = 200
_STEP = late(r"\b(?:in )?step \d+\s*(?=`)|,? ?(?:first )?in step \d+|\bstep \d+\b", re.IGNORECASE)
_QUOTED = late(r"“[^”]*”?|\"[^\"]*\"|(?<![\w])'[^']*'(?!\w)|\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]")
_WITH_DIGITS = late(r"(?<![`\w])[\w.:/@#€$£+-]{0,120}?\d[\w.:/@#%€$£+-]*+")
_NO_FAULT = late(
    r"^(?:the log shows no fault|nothing wrong was found in the log|no step can be named).*?;\s*",
    re.IGNORECASE | re.DOTALL,
)
_NO_LOG = late(r"^(?:there is no tool-call log|the agent made no call);\s*", re.IGNORECASE)
_TOOL = late(r"`([^`]{1,80})`")
_ELLIPSES = late(r"…(?:[\s,;:]*…)+")


_OF_ANSWER = late(r", (?:and|but) the answer (?:says|differs|uses)\b")
_SAY_NOTHING = FAILURE_TYPES.keys() | {words.cause for words in FAILURE_TYPES.values()} | {SPOKEN_CAUSE, TALK_CAUSE}
"""Causes that only say the type: failures with them need have nothing else in common."""
OWN_CHECK = late(r"^the checks? .* failed$", re.DOTALL)


@frozen_type
class FailureSeen:
    """One failed test-run as it is grouped. `loss` is the share of its score that was lost, 0 to 1."""

    test_run_id: str
    test_case_id: str
    title: str
    failure_type: FailureType
    root_cause: str
    signals: tuple[str, ...]
    criteria: tuple[str, ...]
    loss: float


@frozen_type
class FailureLoss:
    """A failed test-run and which cause it has, for adding up; `loss` as above."""

    test_run_id: str
    test_case_id: str
    key: str
    loss: float


@frozen_type
class CauseGroup:
    """Failures with one cause. `cases` are counted, `new` among them; `share` is of the loss of all failures, 0 to 1;
    `examples` are the costliest, one a case.
    """

    key: str
    title: str
    failure_type: FailureType
    cases: int
    new: int
    examples: tuple[FailureSeen, ...]
    share: float
    suggestion: str


@dataclass(slots=True)
class CountedCause:
    """A cause as it adds up: how many cases it has, and of the costliest the test-run in which it failed worst."""

    key: str
    cases: int = 0
    new: int = 0
    loss: float = 0.0
    worst: list[tuple[float, str, str]] = field(default_factory=list[tuple[float, str, str]])

    def add(self, failed: tuple[float, str, str], *, is_new: bool, examples: int) -> None:
        """Counts a case by its worst test-run; of all of them so many `examples` are held."""
        self.cases += 1
        self.new += is_new
        insort(self.worst, failed)
        del self.worst[examples:]


@frozen_type
class CountedCauses:
    """The causes of failures, the one with the most cases first, of equal ones the costlier; all their cases and their loss."""

    causes: tuple[CountedCause, ...]
    cases: int
    new: int
    loss: float


def counted_causes(lines: Iterable[FailureLoss], *, new: Collection[str], examples: int) -> CountedCauses:
    """The causes of those failures, of which those of a case follow one another; `new` are cases that passed before.

    Only what is counted and the costliest `examples` of each cause are held.
    """
    by_key: dict[str, CountedCause] = {}
    cases = new_cases = 0
    for case_id, of_case in groupby(lines, attrgetter("test_case_id")):
        is_new = case_id in new
        cases, new_cases = cases + 1, new_cases + is_new
        worst: dict[str, tuple[float, str, str]] = {}
        for line in of_case:
            failed = -line.loss, case_id, line.test_run_id
            worst[line.key] = min(failed, worst.get(line.key, failed))
            by_key.setdefault(line.key, CountedCause(line.key)).loss += line.loss
        for key, failed in worst.items():
            by_key[key].add(failed, is_new=is_new, examples=examples)
    ordered = sorted(by_key.values(), key=lambda cause: (-cause.cases, -cause.loss, cause.key))
    return CountedCauses(tuple(ordered), cases, new_cases, sum(cause.loss for cause in ordered))


def cause_group(counted: CountedCause, examples: Sequence[FailureSeen], total_loss: float) -> CauseGroup:
    """The cause in words, out of its costliest failures."""
    first = examples[0]
    return CauseGroup(
        key=counted.key,
        title=_title(examples),
        failure_type=first.failure_type,
        cases=counted.cases,
        new=counted.new,
        examples=tuple(examples),
        share=counted.loss / total_loss if total_loss else 0.0,
        suggestion=suggestion(first.root_cause, first.failure_type),
    )


@lru_cache(maxsize=1024)  # many failures are told in the same words
def cause_key(failure_type: FailureType, root_cause: str, signals: tuple[str, ...], criteria: tuple[str, ...]) -> str:
    """Returns what is equal for failures that say the same: type, tool and fault, whatever numbers, names and quotes stand in them."""
    return digest([failure_type, *_without_values(failure_type, root_cause, signals, criteria)])[:16]


def cause_sentence(group: CauseGroup, count: int, total: int, *, older: int | None, since: str, came_back: int) -> str:
    """The cause as it is told: "6 of 9 newly failing cases: `get_order` called with an order of somebody else, first seen with p@3".

    `count` and `total` are cases, however often each was tried; `older` counts those that failed so before, None where all
    that failed are told of, not the new ones.
    """
    failing = f"{'failed' if older is None else 'newly failing'} case{'' if total == 1 else 's'}"
    besides = f" (and {older} older)" if older else ""
    sentence = f"{count} of {total} {failing}{besides}: {group.title}"
    if not tells_cause(group.title):
        return sentence
    back = "" if not came_back else ", back after it was gone" + (f" {came_back} times" if came_back > 1 else "")
    return f"{sentence}{f', first seen with {since}' if since else ''}{back}"


def blames_answer(root_cause: str) -> bool:
    """Returns whether the cause quotes a step for what the answer makes of it: that step gave what it should."""
    return _OF_ANSWER.search(root_cause) is not None


def tells_cause(title: str) -> bool:
    """Returns whether a cause's title says more than the type of its failures."""
    return title not in _SAY_NOTHING


def _title(failures: Sequence[FailureSeen]) -> str:
    """The cause in words: with the values where all say the same ones, else without."""
    exact = {_plain(failure.failure_type, failure.root_cause) for failure in failures}
    if len(exact) == 1 and not exact & _SAY_NOTHING:
        return _shortened(exact.pop())
    first = failures[0]
    parts = _without_values(first.failure_type, first.root_cause, first.signals, first.criteria)
    return _shortened("; ".join(part for part in parts if part))


def _plain(failure_type: FailureType, root_cause: str) -> str:
    """The root cause without the number of its step, which differs from case to case."""
    cause_text = _NO_LOG.sub("", _NO_FAULT.sub("", root_cause.strip()))
    return " ".join(_STEP.sub("", cause_text).split()) or failure_type


def _without_values(
    failure_type: FailureType, root_cause: str, signals: Sequence[str], criteria: Sequence[str]
) -> tuple[str, ...]:
    """The fault with all that differs from case to case taken out; where no step bears it, what else sets it apart."""
    cause_text = _QUOTED.sub("…", _plain(failure_type, root_cause))
    cause_text = _ELLIPSES.sub("…", _WITH_DIGITS.sub("…", cause_text)).strip(" …;,:")
    if _TOOL.search(root_cause) and not _NO_FAULT.match(root_cause):
        return (cause_text,)
    signal = signals[0].partition(": ")[0] if signals else ""
    criterion = next((name for name in criteria if not name.startswith("implicit:")), "")
    return cause_text, signal and f"signal: {signal}", criterion and f"lowest-scoring criterion: {criterion}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


_CUT_OFF = late(r"token limit|cut off|truncat", re.IGNORECASE)
_ACTIONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (late(r"does not exist|is not a tool|unknown tool", re.IGNORECASE), "Offer the tool {tool} to the agent, or stop mentioning it."),
    (
        late(r"times with the same|gave the same|repeat|loop|without progress", re.IGNORECASE),
        "Tell the agent when to stop calling {tool}.",
    ),
    (late(r"placeholder", re.IGNORECASE), "Tell the agent where the arguments of {tool} come from."),
    (
        late(r"argument|was called with|another (?:customer|order|user|entity)|differs from the (?:input|only)|stale", re.IGNORECASE),
        "Tell the agent where that argument of {tool} comes from, and validate it in the tool.",
    ),
    (late(r"empty result|gave nothing", re.IGNORECASE), "Tell the agent what to answer when {tool} finds nothing."),
    (
        late(r"gave the right result|and the answer says|ignored|unused|contradict|but the answer differs", re.IGNORECASE),
        "Tell the agent to base its answer on what {tool} returned.",
    ),
    (late(r"no call|missing step|is missing|never called", re.IGNORECASE), "Tell the agent when it must call {tool}."),
    (
        late(r"wrong tool|instead of|another thing than|was called where", re.IGNORECASE),
        "Make the descriptions of the tools easier to tell apart: {tool} was the wrong one.",
    ),
    (late(r"token limit|cut off|truncat", re.IGNORECASE), "Raise the limit on output tokens, or ask for a shorter answer."),
    (late(r"failed|error|swallowed", re.IGNORECASE), "Make {tool} work for these inputs, or tell the agent what to do when it fails."),
)  # fmt: skip


def suggestion(root_cause: str, failure_type: FailureType) -> str:
    """The one thing to do next about failures with that root cause."""
    tool = _TOOL.search(root_cause)
    if tool is not None and not _NO_FAULT.match(root_cause):
        for pattern, action in _ACTIONS:
            if pattern.search(root_cause):
                return action.format(tool=f"`{tool[1]}`")
    if _CUT_OFF.search(root_cause):
        return "Raise the limit on output tokens, or ask for a shorter answer."
    if OWN_CHECK.search(_plain(failure_type, root_cause)):
        return "Compare the costliest case with what that check asks. One of them is wrong."
    if ACT_CAUSE in root_cause:
        return "Look at the calls of the costliest case. Tell the agent what to change, how often, and in which order."
    return FAILURE_TYPES[failure_type].advice
