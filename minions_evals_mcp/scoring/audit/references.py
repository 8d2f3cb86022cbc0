"""The right answer to a case, as far as the case says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.conversations import messages_of
from minions_evals_mcp.domain.definitions import Json, TestCase
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import output_text, value_text
from minions_evals_mcp.scoring.assertions.kinds.similar import SIMILAR
from minions_evals_mcp.scoring.audit.logs import LOG_KEYS, log_asked_for, log_in
from minions_evals_mcp.scoring.audit.rules import Rules, flat
from minions_evals_mcp.scoring.audit.samples import text_found_by, texts_listed_by
from minions_evals_mcp.scoring.verdicts.expected import is_pattern

_TELLING = ("equals", *SIMILAR, "factuality", "levenshtein", "rouge-n", "bleu", "gleu")
"""Checks whose value is a right answer, the surest first."""
FEW_WORDS = 4
"""An answer on record of no more words says nothing beside what was asked for."""
_ACCEPTING = frozenset({*_TELLING, "contains-any", "icontains-any"})


class RecordedAnswer(NamedTuple):
    """What a run on record answered, with its tool calls where it made some."""

    output: Json
    tool_calls: tuple[ToolCall, ...] | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A right answer with the log of its tool calls, and the other texts that are right.

    `given`: a person wrote it down as the expected output; else it was read off the checks, which it passes by its making.
    """

    output: Json
    tool_calls: tuple[ToolCall, ...] | None = None
    accepted: tuple[str, ...] = ()
    paraphrases: tuple[Json, ...] = ()
    given: bool = True

    @property
    def text(self) -> str:
        """Returns what it says."""
        return output_text(self.output)


def reference_of(
    case: TestCase, rules: Rules, recorded: Sequence[RecordedAnswer] = ()
) -> Reference | None:  # fmt: skip
    """The reference of a case: its expected outputs, else what a check compares with; None where nothing says it.

    `recorded`: what runs of the case on record answered. Their tool calls tell more than checks that name tools.
    """
    assertions = [*rules.assertions(), *flat(case.assertions)]
    written = log_in(case.expected_outputs or {})
    expected_log = log_asked_for(assertions) if rules.look_at_log() else None
    logs = [answer.tool_calls for answer in recorded if answer.tool_calls]
    log = written or (_fitting(logs, expected_log) if rules.look_at_log() else None)
    accepted = tuple(dict.fromkeys([*accepted_in(assertions), *map(_text_of, case.accepted_outputs)]))
    paraphrases = tuple(map(_record_of, case.accepted_outputs))
    output = _expected(case)
    if output is not None:
        return Reference(output, log, accepted, paraphrases)
    value = _expected_value(assertions)
    if value is not None:
        return Reference({"output": value}, log, accepted, paraphrases, given=False)
    if log is not None and not rules.look_at_text():
        return Reference({"output": "Done."}, log, accepted, paraphrases, given=written is not None)
    return None


def stand_in(recorded: Sequence[RecordedAnswer], rules: Rules) -> Reference | None:
    """The newest answer on record that can stand in for a right one where mutants are made.

    None where its text, if the checks look at it, says more than was asked for.
    """
    answer = next((one for one in recorded if _tells(one.output) or not rules.look_at_text()), None)
    return None if answer is None else Reference(answer.output, answer.tool_calls, given=False)


def _tells(output: Json) -> bool:
    """Whether the answer says little beside what was asked for: JSON, or a few words. A conversation says much."""
    text = "" if messages_of(output) else output_text(output)
    return bool(text.strip()) and (text.lstrip().startswith(("{", "[")) or len(text.split()) <= FEW_WORDS)


def _fitting(
    recorded: Sequence[tuple[ToolCall, ...]], wanted_log: tuple[ToolCall, ...] | None
) -> tuple[ToolCall, ...] | None:  # fmt: skip
    """The newest log on record that has every tool which the checks ask for, else the log that they describe."""
    wanted = {call.tool for call in wanted_log or ()}
    arguments = [call.arguments for call in wanted_log or () if call.arguments]
    for log in recorded:
        held = [call.arguments for call in log]
        if wanted <= {call.tool for call in log} and all(
            any(argument.items() <= had.items() for had in held) for argument in arguments
        ):
            return log
    return wanted_log


def _text_of(answer: JsonValue) -> str:
    return output_text(answer) if isinstance(answer, dict) else value_text(answer)


def _record_of(answer: JsonValue) -> Json:
    return answer if isinstance(answer, dict) else {"output": answer}


def _expected(case: TestCase) -> Json | None:
    """The expected outputs without a log, a text in place of each pattern; None where they are nothing else."""
    expected = {key: value for key, value in (case.expected_outputs or {}).items() if key not in LOG_KEYS}
    if not expected or all(is_pattern(value) and not texts_listed_by(str(value)[1:-1]) for value in expected.values()):
        return None
    wire: Json = {}
    for key, value in expected.items():
        sample = text_found_by(str(value)[1:-1]) if is_pattern(value) else value
        if sample is None:
            return None
        wire[key] = sample
    return wire


def _expected_value(assertions: Sequence[Assertion]) -> JsonValue:
    for kind in _TELLING:
        for assertion in assertions:
            if assertion.type == kind and assertion.weight > 0 and assertion.transform is None:
                first = (
                    assertion.value[0]
                    if isinstance(assertion.value, list) and assertion.value and kind != "equals"
                    else assertion.value
                )
                if first not in (None, ""):
                    return first
    return None


def accepted_in(assertions: Iterable[Assertion]) -> Iterator[str]:
    """The texts that checks compare with or choose among: each is an answer that somebody wrote down as right."""
    for assertion in assertions:
        if assertion.base_type in _ACCEPTING and not assertion.negated and assertion.weight > 0:
            values = assertion.value if isinstance(assertion.value, list) else [assertion.value]
            yield from (value_text(value) for value in values if value is not None)
        elif assertion.type == "regex" and assertion.weight > 0:
            yield from texts_listed_by(str(assertion.value))
