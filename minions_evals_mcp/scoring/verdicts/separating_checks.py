"""A check that fails on a wrong output and passes on the corrected one: the most telling that does both (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import parsed
from minions_evals_mcp.scoring.checks import Aggregate, Subject
from minions_evals_mcp.scoring.verdicts.examination import OutputChecks

MOST_FACTS, MOST_WORDS = 6, 12
_FACT = re.compile(
    r"[€$£]?\d[\w.,:/%-]*\w|\d|[\w.+-]{1,64}+@[\w.-]+\w|(?<![.!?]\s)(?<!^)\b[A-Z][a-zA-Z]{2,}\b|\b[A-Z]{2,}[\w-]*"
)
_WORDS = re.compile(r"\S+")


def passes(assertions: Sequence[Assertion], text: str) -> bool | None:
    """Returns whether the text passes all of them; None where one cannot be carried out on the text alone."""
    result = OutputChecks(assertions, Subject(text, value=_value(text))).answer()
    return result.passed if isinstance(result, Aggregate) else None


def separating_checks(wrong: str, corrected: str) -> tuple[Assertion, ...]:
    """The first set of checks that the corrected text passes and the wrong one fails; raises `ValueError` for equal texts.

    Facts that the corrected text has and the wrong one lacks come before words, words before the whole text.
    """
    if wrong.strip() == corrected.strip():
        raise ValueError("the corrected output says what the wrong one says")
    for wanted in _candidates(wrong, corrected):
        for checks in ((*wanted, *_kept_out(wrong, corrected)), wanted):
            if checks and passes(checks, corrected) is True and passes(checks, wrong) is False:
                return checks
    return (Assertion(type="equals", value=corrected),)


def failing_checks(wrong: str) -> tuple[Assertion, ...]:
    """Returns what a draft checks until somebody says what is right: that this very output does not come again."""
    if not wrong:
        return (Assertion(type="regex", value=r"\S"),)
    return (Assertion(type="not-equals", value=wrong),)


def _candidates(wrong: str, corrected: str) -> Iterator[tuple[Assertion, ...]]:
    value = _value(corrected)
    if isinstance(value, dict):
        yield (Assertion(type="is-json", value=_schema(value)),)
    if value is not None:
        yield (Assertion(type="is-json", value={"const": value}),)
    facts = _only_in(_facts(corrected), wrong)[:MOST_FACTS]
    refused = bool(wrong.strip()) and passes((Assertion(type="is-refusal"),), wrong)
    declined = (Assertion(type="not-is-refusal"),) if refused else ()
    if facts:
        yield (*declined, Assertion(type="icontains-all", value=[*facts]))
    spans = _new_words(wrong, corrected)
    if spans:
        yield (*declined, Assertion(type="icontains-all", value=[*spans]))
    yield (*declined, Assertion(type="icontains", value=corrected.strip()))


def _kept_out(wrong: str, corrected: str) -> tuple[Assertion, ...]:
    """That figures and names of the wrong output do not come again, where the corrected one has nothing like them."""
    facts = [fact for fact in _only_in(_facts(wrong), corrected) if len(fact) > 1 and any(map(str.isdigit, fact))]
    return (Assertion(type="not-icontains-any", value=[*facts[:MOST_FACTS]]),) if facts else ()


def _facts(text: str) -> list[str]:
    return list(dict.fromkeys(_FACT.findall(text)))


def _only_in(facts: Sequence[str], other: str) -> list[str]:
    folded = other.casefold()
    return [fact for fact in facts if fact.casefold() not in folded]


def _new_words(wrong: str, corrected: str) -> list[str]:
    """The stretches of the corrected text that the wrong one has not, where they are short."""
    old, new = _WORDS.findall(wrong.casefold()), _WORDS.findall(corrected)
    matched = SequenceMatcher(None, old, [word.casefold() for word in new], autojunk=False).get_opcodes()
    spans = [new[start:end] for kind, _, _, start, end in matched if kind in ("replace", "insert")]
    if not spans or sum(map(len, spans)) > MOST_WORDS:
        return []
    return [" ".join(span).strip(".,;:!?") for span in spans]


def _value(text: str) -> JsonValue:
    """The object or list that the text is; None where it is plain text."""
    value_read = parsed(text.strip())
    return value_read if isinstance(value_read, dict | list) else None


def _schema(value: Json) -> Json:
    """A schema of the object: its keys, and the values of those that are no objects or lists."""
    plain: Json = {key: {"const": item} for key, item in value.items() if not isinstance(item, dict | list)}
    return {"type": "object", "required": [*value], "properties": plain}
