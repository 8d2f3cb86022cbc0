"""Statements of an output that its material does not make: numbers, dates, names, links, quotations, claims of work done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from pydantic import JsonValue

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.abstention import tells_all_the_same
from minions_evals_mcp.scoring.failures.claims import unfounded_claims
from minions_evals_mcp.scoring.failures.contradictions import contradictions
from minions_evals_mcp.scoring.failures.dates import WEEKDAYS
from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.given import has_context
from minions_evals_mcp.scoring.failures.judged import NOT_MADE_UP, says_made_up, says_miscalculated
from minions_evals_mcp.scoring.failures.material import TextReading, ValueMaterial, material, read
from minions_evals_mcp.scoring.failures.mentions import ORDINARY, QUOTE, WORD, names, squeezed
from minions_evals_mcp.scoring.failures.own_words import is_long, own_wording
from minions_evals_mcp.scoring.failures.quantities import Quantity
from minions_evals_mcp.scoring.failures.referrals import refers_on
from minions_evals_mcp.scoring.failures.steps import gave_nothing, is_error_notice
from minions_evals_mcp.scoring.failures.texts import cut, flat, leaves, stated, straight
from minions_evals_mcp.scoring.failures.unborne import names_omitted, names_only_omitted, names_unborne
from minions_evals_mcp.scoring.failures.wanted import flattened

LOOKED_AT = 100_000
"""So many characters of an output are checked against its material."""
MOST_PER_KIND = 100
MOST_NUMBERS = 1_000
INVENTED, CLAIMED, WORKED_OUT, OWN_COUNT = 0.8, 0.75, 0.3, 0.65
"""Confidence in a number that stands nowhere, in an answer where none was to be had, in a number where the right one is worked
out, and in a bare small count."""
_LABELLED = late(r"\b([^\W\d_]{4,20}):? (\d{1,3})\b(?![.,]?\d)(?=\s*(?:[.,;:!?)]|$))", re.MULTILINE)
_FAITHFUL = late(r"faithful|grounded|hallucinat|factual(?:ity| consistency)|attribut|support(?:ed)? by", re.IGNORECASE)
_SENTENCE = late(r"[^.!?\n]+")
_WITH_END = late(r"[^.!?\n]+[.!?\n]*")
_CODE = late(r"`[^`\n]{1,300}`")
_FEW = 6
_FORBIDS = frozenset(("not-contains", "not-icontains"))

Grounds = tuple[ValueMaterial, ...]
"""What the output had before it, and, where one is known, the expected output: neither is an invention."""


def hallucination_signals(failed: FailedOutput) -> tuple[Signal, ...]:
    """Returns what the output says that neither its context nor its tool results bear out; nothing where there are neither."""
    if failed.is_empty:
        return ()
    prose_text = straight(stated(failed.text, LOOKED_AT))
    given = has_context(failed.inputs)
    signals: list[Signal] = []
    if failed.has_log:
        heard = " ".join(flat(value) for value in _source_values(failed)).casefold()
        claims = unfounded_claims(prose_text, failed.tool_calls, heard, has_context=given)
        signals += [Signal("claim", claim.quoted, 0.85) for claim in claims[:MOST_PER_KIND]]
    if given or failed.tool_calls:
        signals += [*_unsupported(failed, prose_text), *_forbidden(failed, prose_text)]
        source = straight("\n".join(map(flat, _source_values(failed))))[:LOOKED_AT]
        signals += contradictions(prose_text, source, question=flat(failed.inputs)[:LOOKED_AT])
    if tells_all_the_same(flat(failed.expected), prose_text):
        signals.append(Signal("claims to know", cut(prose_text), CLAIMED))
    signals += _judged(failed)
    return tuple(signals)


def _judged(failed: FailedOutput) -> Iterator[Signal]:
    """Yields what a judge calls made up, and a criterion of faithfulness that cost the most."""
    lost = [criterion for criterion in failed.criteria if criterion.fraction < 1]
    worst = max(lost, key=lambda criterion: criterion.loss, default=None)
    for criterion in lost:
        named = criterion is worst and _FAITHFUL.search(criterion.name)
        if not criterion.is_opinion:
            continue
        invents = says_made_up(criterion.rationale) and not names_only_omitted(failed, criterion.rationale)
        if invents or (named and not NOT_MADE_UP.search(criterion.rationale)):
            yield Signal("judge", f"{criterion.name}: {criterion.rationale}", 0.65)
        elif says_miscalculated(criterion.rationale) or names_omitted(failed, criterion.rationale):
            continue  # an error, no invention
        elif names_unborne(failed, criterion.rationale):
            yield Signal("judge", f"{criterion.name}: {criterion.rationale}", 0.6)


def _forbidden(failed: FailedOutput, text: str) -> Iterator[Signal]:
    """Yields what a check forbids to say, the answer says, and nothing that was given does."""
    text, given = text.casefold(), "\n".join(map(flat, _source_values(failed))).casefold()
    for check in flattened(failed.checks):
        words = check.value.casefold() if check.type in _FORBIDS and isinstance(check.value, str) else ""
        if len(words.split()) > 1 and words in text and words not in given and set(WORD.findall(words)) - ORDINARY:
            yield Signal("forbidden claim", words, 0.6)


def _source_values(failed: FailedOutput) -> tuple[JsonValue, ...]:
    """Inputs, tool results, and what successful calls were asked for."""
    heard: list[JsonValue] = [failed.inputs]
    for call in failed.tool_calls:
        heard.append(call.result)
        if call.error is None:
            heard.append(call.arguments)
    return tuple(heard)


def _unsupported(failed: FailedOutput, text: str) -> Iterator[Signal]:
    reading, stated = read(text), material(_source_values(failed))
    grounds = (stated, material([failed.expected, _right(failed)])) if failed.expected or failed.checks else (stated,)
    by_work = _must_work_out(failed, stated, text)
    for signal in (
        *_unknown_numbers(reading, grounds),
        *_otherwise_labelled(text, failed),
        *_unknown_times(reading, grounds),
        *_unknown_weekdays(text, grounds),
    ):
        yield replace(signal, confidence=min(signal.confidence, WORKED_OUT)) if by_work else signal
    yield from _unknown_codes(reading, grounds)
    yield from _unknown_quotes(text, grounds)
    yield from _unknown_names(failed, reading, grounds)
    yield from own_wording(text, grounds) if is_long(text) else _unknown_sentences(text, grounds)


def _unknown_names(failed: FailedOutput, reading: TextReading, grounds: Grounds) -> Iterator[Signal]:
    """Names that stand nowhere, but for those of whoever should be asked instead."""
    bare = _CODE.sub(" ", reading.bare)
    text = "".join(sentence for sentence in _WITH_END.findall(bare) if not refers_on(sentence))
    brought = WORKED_OUT if _brings_names(failed, grounds[0]) else 1.0
    for name in dict.fromkeys(islice(names(text), 10 * MOST_PER_KIND)):
        if any(not _has_word(word, grounds) for word in name):
            yield Signal("name", " ".join(name), min(brought, 0.75 if len(name) > 1 else 0.6))


def _brings_names(failed: FailedOutput, stated: ValueMaterial) -> bool:
    """Returns whether the right answer has a name that nothing gives: knowledge is asked for, and another name is an error."""
    words = _right(failed).split()
    return len(words) <= _FEW and any(
        word[:1].isupper() and word.isalpha() and not stated.has_word(word) for word in words
    )


def _right(failed: FailedOutput) -> str:
    """Returns what the right answer has to say."""
    return "\n".join(
        str(leaf) for wanted in (failed.expected, failed.wanted_words) for _, leaf in leaves(wanted) if leaf is not None
    )


def _must_work_out(failed: FailedOutput, stated: ValueMaterial, text: str) -> bool:
    """Returns whether the right answer has a number, a day or a time that is worked out: a wrong one is then an error, not an invention.

    Where nothing was given that it could be worked out from, it is an invention all the same.
    """
    if _gave_nothing(failed):
        return False
    right = read(_right(failed))
    if any(not stated.numbers.states(number) for number in right.quantities):
        return True
    if any(not stated.has_day(day) for day in right.days):
        return True
    if any(not stated.has_time(clock) for clock in right.clocks):
        return True
    opinions = [criterion.rationale for criterion in failed.criteria if criterion.is_opinion]
    return any(says_miscalculated(opinion) or _reckons(opinion, stated, text) for opinion in opinions)


def _reckons(opinion: str, stated: ValueMaterial, text: str) -> bool:
    """Returns whether a judge gives a number that neither the material nor the answer has."""
    own = {value for number in read(text).quantities for value in number.values}
    return not says_made_up(opinion) and any(
        not number.is_small_count and not stated.numbers.states(number) and number.values[0] not in own
        for number in read(opinion).quantities
    )


def _gave_nothing(failed: FailedOutput) -> bool:
    """Returns whether there is no context, and no call gave a result."""
    return not has_context(failed.inputs) and not any(
        call.error is None and call.result is not None and not gave_nothing(call) and not is_error_notice(call.result)
        for call in failed.tool_calls
    )


def _unknown_numbers(reading: TextReading, grounds: Grounds) -> Iterator[Signal]:
    for quantity in islice(reading.quantities, MOST_NUMBERS):
        if quantity.is_small_count:
            if _counted_otherwise(quantity, grounds):
                yield Signal("number", f"{quantity.shown} {quantity.counted}…", OWN_COUNT)
        elif not any(ground.numbers.gives(quantity) for ground in grounds):
            yield Signal("number", quantity.shown, INVENTED)


def _otherwise_labelled(text: str, failed: FailedOutput) -> Iterator[Signal]:
    """Numbers after a word that has another number, and only one, in what was given ("platform 9", where it is 4)."""
    given: dict[str, set[str]] = {}
    for label, number in islice(_LABELLED.findall("\n".join(map(flat, _source_values(failed)))), MOST_NUMBERS):
        given.setdefault(label.casefold(), set()).add(number)
    expected = flat(failed.expected)
    for label, number in islice(_LABELLED.findall(text), MOST_PER_KIND):
        known = given.get(label.casefold(), set()) if label.casefold() not in ORDINARY else set[str]()
        if len(known) == 1 and number not in known and not re.search(rf"\b{number}\b", expected):
            yield Signal("number", f"{label} {number}", OWN_COUNT)


def _counted_otherwise(quantity: Quantity, grounds: Grounds) -> bool:
    """Returns whether what was given counts the same thing differently, and the expected output does not say so too."""
    given, *expected = grounds
    return given.numbers.counts_otherwise(quantity) and not any(ground.numbers.states(quantity) for ground in expected)


def _unknown_times(reading: TextReading, grounds: Grounds) -> Iterator[Signal]:
    for mention in islice(reading.days, MOST_PER_KIND):
        if not any(ground.has_day(mention) for ground in grounds):
            yield Signal("date", mention.shown, 0.85)
    for mention in islice(reading.clocks, MOST_PER_KIND):
        if not any(ground.has_time(mention) for ground in grounds):
            yield Signal("time", mention.shown, 0.75)


def _unknown_weekdays(text: str, grounds: Grounds) -> Iterator[Signal]:
    """Weekdays that the material does not name, where it names others."""
    folded = text.casefold()
    known = {weekday for weekday in WEEKDAYS if any(weekday in ground.text for ground in grounds)}
    for weekday in WEEKDAYS:
        if known and weekday in folded and weekday not in known:
            yield Signal("weekday", weekday, 0.75)


def _unknown_codes(reading: TextReading, grounds: Grounds) -> Iterator[Signal]:
    for link in dict.fromkeys(islice(reading.links, MOST_PER_KIND)):
        if not any(ground.has_link(link) for ground in grounds):
            yield Signal("link", link, 0.9)
    for token in dict.fromkeys(islice(reading.identifiers, MOST_PER_KIND)):
        if not any(ground.has_identifier(token) for ground in grounds):
            yield Signal("identifier", token, 0.8)


def _unknown_quotes(text: str, grounds: Grounds) -> Iterator[Signal]:
    """Quotations of at least three words that stand nowhere."""
    for match in islice(QUOTE.finditer(text), MOST_PER_KIND):
        if squeezed(match[1]).count(" ") >= 2 and not any(ground.has_quote(match[1]) for ground in grounds):
            yield Signal("quote", match[1], 0.8)


def _unknown_sentences(text: str, grounds: Grounds) -> Iterator[Signal]:
    """Sentences that share few words with the material: weak, for a writer may put things in words of his own."""
    for match in islice(_SENTENCE.finditer(text), MOST_PER_KIND):
        telling = [word for word in WORD.findall(match[0]) if len(word) > 3 and word.casefold() not in ORDINARY]
        unknown = sum(not _has_word(word, grounds) for word in telling)
        if unknown >= 3 and 2 * unknown >= len(telling):
            yield Signal("sentence", match[0], 0.3)


def _has_word(word: str, grounds: Grounds) -> bool:
    return any(ground.has_word(word) for ground in grounds)
