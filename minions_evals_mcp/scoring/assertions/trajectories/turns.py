"""Checks of a conversation's turns: what the agent said in one, in each, or in all of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.assertions import AGENT_TURNS, TURN, Assertion
from minions_evals_mcp.domain.conversations import MESSAGES, exchanges, messages_of
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.checks import Aggregate, SpokenTurn, Subject, Unchecked, Unmet
from minions_evals_mcp.scoring.failures.texts import cut
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

if TYPE_CHECKING:
    from minions_evals_mcp.domain.neighbours import ToolCall

NO_TURNS = Unmet("the output is not a conversation: it has no turns", not_judgeable=True)
CheckAll = Callable[[Sequence[Assertion], Subject], Aggregate | Unchecked]
MOST_NAMED = 5
"""So many turns that failed are named."""


def spoken_turns(
    output: Json, tool_calls: Sequence[ToolCall] | None = None, ends: Sequence[int] = ()
) -> tuple[SpokenTurn, ...]:
    """The turns of an output that is a conversation; `ends` says after how many calls each turn ended, where that is known."""
    messages = messages_of(output) if MESSAGES in output else None
    if messages is None:
        return ()
    spoken = exchanges(messages)
    if tool_calls is None or len(ends) != len(spoken):
        return tuple(SpokenTurn(turn.user, turn.agent) for turn in spoken)
    return tuple(
        SpokenTurn(turn.user, turn.agent, tuple(tool_calls[begin:end]))
        for turn, begin, end in zip(spoken, (0, *ends), ends, strict=False)
    )


def turn_subjects(assertion: Assertion, subject: Subject) -> list[tuple[int, Subject]]:
    """What the assertion looks at: the number of each turn and its answer; number 0 for all answers as one text."""
    if assertion.base_type == AGENT_TURNS:
        text = "\n".join(turn.agent for turn in subject.turns)
        return [(0, subject._replace(text=text, value=None, record=None, turns=()))] if subject.turns else []
    numbered = enumerate(subject.turns, 1)
    wanted = assertion.value if assertion.base_type == TURN else None
    return [(number, of_turn(subject, turn)) for number, turn in numbered if wanted in (None, number)]


def of_turn(subject: Subject, turn: SpokenTurn) -> Subject:
    """The answer of one turn as all that a check sees: its text, its calls, and what the user said as the prompt."""
    return subject._replace(
        text=turn.agent, value=None, record=None, prompt=turn.user, tool_calls=turn.tool_calls, latency_ms=turn.latency_ms,
        turns=(),
    )  # fmt: skip


def in_turns(assertion: Assertion, subject: Subject, check_all: CheckAll) -> UnweightedResult | Unmet:
    """The verdict on the turns that the assertion is about: the checks hold in each of them."""
    if not subject.turns:
        return NO_TURNS
    seen = turn_subjects(assertion, subject)
    if not seen:
        many = "1 turn" if len(subject.turns) == 1 else f"{len(subject.turns)} turns"
        return UnweightedResult(passed=False, reason=f"there is no turn {assertion.value}: the conversation has {many}")
    verdicts: list[tuple[int, Aggregate]] = []
    for number, of_one in seen:
        verdict = check_all(assertion.assertions, of_one)
        if isinstance(verdict, Unchecked):
            return Unmet(f"{verdict.type}: {verdict.reason}", not_judgeable=verdict.not_judgeable)
        verdicts.append((number, verdict))
    score = sum(verdict.score for _, verdict in verdicts) / len(verdicts)
    passed = all(verdict.passed for _, verdict in verdicts)
    parts = verdicts[0][1].results if len(verdicts) == 1 else ()
    return UnweightedResult(passed, _reason(verdicts), score, parts=parts)


def _reason(verdicts: Sequence[tuple[int, Aggregate]]) -> str:
    failed = [(number, verdict) for number, verdict in verdicts if not verdict.passed]
    if not failed and len(verdicts) > 1:
        return f"all {len(verdicts)} turns passed"
    told = failed or verdicts
    more = f"; and {len(told) - MOST_NAMED} more turns" if len(told) > MOST_NAMED else ""
    return "; ".join(_told(number, verdict) for number, verdict in told[:MOST_NAMED]) + more


def _told(number: int, verdict: Aggregate) -> str:
    results = [result for result in verdict.results if not result.passed] or verdict.results
    reasons = cut("; ".join(f"{result.type}: {result.reason}" for result in results), 240)
    return f"turn {number}: {reasons}" if number else reasons


def vet_turns(assertion: Assertion) -> None:
    """Refuses a check of turns that holds no assertions, and a turn that is no number from 1."""
    if not assertion.assertions:
        raise InvalidRecordError("must contain at least one assertion", field="assert")
    value = assertion.value
    if assertion.base_type != TURN:
        if value is not None:
            raise InvalidRecordError(f"{assertion.base_type} takes none, not {excerpt(value)}", field="value")
    elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidRecordError(f"must be the number of a turn, from 1, not {excerpt(value)}", field="value")
