"""Checks of the text itself: what it contains, how it begins, which pattern it matches."""

from __future__ import annotations

import re
from functools import lru_cache

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Evidence, RegexNeed, Subject, Unmet
from minions_evals_mcp.scoring.patterns import PYTHONS, Elsewhere, compiled
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt, finding, js_text

TEXT_LIMIT = 1_000_000
_FIELD = late(r'[\s,]*(?:"((?:[^"\\]|\\.|"")*)"\s*(?=,|$)|([^\s",][^,]*))', re.DOTALL)
_ESCAPED = late(r'\\(["\\])|"(")')


def contains(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """`value` stands in the output, case-sensitive; a number is looked for as its text."""
    wanted = js_text(assertion.value)
    passed = wanted in subject.text
    return finding(passed, f"{'contains' if passed else 'does not contain'} {excerpt(wanted)}")


def icontains(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """As `contains`, whatever the case."""
    wanted = js_text(assertion.value)
    passed = wanted.lower() in subject.text.lower()
    return finding(passed, f"{'contains' if passed else 'does not contain'} {excerpt(wanted)} (any case)")


def contains_all(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """Every element of `value` (a list, or a text with commas) stands in the output, case-sensitive."""
    return _all_in(listed(assertion.value), subject.text)


def icontains_all(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """As `contains-all`, whatever the case."""
    return _all_in([wanted.lower() for wanted in listed(assertion.value)], subject.text.lower())


def contains_any(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """At least one element of `value` (a list, or a text with commas) stands in the output, case-sensitive."""
    return _any_in(listed(assertion.value), subject.text)


def icontains_any(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """As `contains-any`, whatever the case."""
    return _any_in([wanted.lower() for wanted in listed(assertion.value)], subject.text.lower())


def starts_with(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """The output begins with `value`, case-sensitive, white space counted."""
    wanted = js_text(assertion.value)
    passed = subject.text.startswith(wanted)
    return finding(passed, f"{'starts' if passed else 'does not start'} with {excerpt(wanted)}")


def regex(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The pattern `value` is found anywhere in the output, as JavaScript's `RegExp.test` would find it."""
    pattern = js_text(assertion.value)
    if subject.of_config and (foreign := PYTHONS.search(pattern)):
        reason = f"JavaScript patterns have no {foreign[0]}"
        return UnweightedResult(passed=assertion.negated, reason=reason, score=0.0, negated_score=0.0)
    hit = found(pattern, subject.text, evidence)
    return hit if isinstance(hit, Unmet) else _matched(pattern, hit)


def found(pattern: str, text: str, evidence: Evidence) -> bool | Unmet:
    """Whether the pattern is found anywhere in the text; `Unmet` where the text is too long, or the search gave up."""
    if len(text) > TEXT_LIMIT:
        return Unmet(f"the output has {len(text):,} characters; a pattern is searched in at most {TEXT_LIMIT:,}")
    search = compiled(pattern)
    return _searched(search, text, evidence) if isinstance(search, Elsewhere) else search(text)


@lru_cache(maxsize=512)
def _matched(pattern: str, hit: bool) -> UnweightedResult:  # noqa: FBT001  a finding, not an option
    return finding(hit, f"{'matches' if hit else 'does not match'} the pattern {excerpt(pattern)}")


def regex_needs(assertion: Assertion, subject: Subject) -> tuple[RegexNeed, ...]:
    """The search that `regex` cannot make itself, if there is one."""
    return search_needs(js_text(assertion.value), subject.text)


def search_needs(pattern: str, text: str) -> tuple[RegexNeed, ...]:
    """The search that `found` cannot make itself, if there is one."""
    search = compiled(pattern)
    if isinstance(search, Elsewhere) and len(text) <= TEXT_LIMIT:
        return (RegexNeed(search.pattern, text),)
    return ()


def searched_elsewhere(assertion: Assertion) -> bool:
    """Returns whether `regex` cannot make its search itself."""
    return isinstance(compiled(js_text(assertion.value)), Elsewhere)


def vet_scalar(assertion: Assertion) -> None:
    """Refuses a `value` that is no text with at least one character, and no number."""
    value = assertion.value
    if isinstance(value, str) and value:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRecordError(f"must be a text that is not empty, or a number, not {excerpt(value)}", field="value")


def vet_listed(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a list of texts or numbers nor a text with commas, or that is empty."""
    value = assertion.value
    if not isinstance(value, str | list) or any(isinstance(wanted, list | dict | None) for wanted in value):
        raise InvalidRecordError(f"must be a list of texts or numbers, not {excerpt(value)}", field="value")
    entries = listed(value)
    if not entries:
        raise InvalidRecordError("the list is empty", field="value")
    blank = next((number for number, entry in enumerate(entries) if not entry.strip()), None)
    if blank is not None:
        raise InvalidRecordError("the entry is blank, and every text contains it", field=f"value.{blank}")


def vet_pattern(assertion: Assertion) -> None:
    """Refuses a pattern that is too long or that does not compile."""
    vet_scalar(assertion)
    compiled(js_text(assertion.value))


def listed(value: JsonValue) -> list[str]:
    """The elements of a list, or of a text with commas where `"…"` may hold a comma."""
    return [js_text(wanted) for wanted in value] if isinstance(value, list) else list(_split(js_text(value)))


@lru_cache(maxsize=1024)
def _split(text: str) -> tuple[str, ...]:
    parts: list[str] = []
    position = 0
    while match := _FIELD.match(text, position):
        quoted, plain = match.groups()
        parts.append(plain.strip() if quoted is None else _ESCAPED.sub(lambda match: match[1] or match[2], quoted))
        position = match.end()
    if text[position:].replace(",", " ").strip():
        raise InvalidRecordError(
            f"a quoted element does not end before a comma: {excerpt(text[position:])}", field="value"
        )
    return tuple(parts)


def _all_in(wanted: list[str], text: str) -> UnweightedResult:
    missing = [word for word in wanted if word not in text]
    if missing:
        return UnweightedResult(
            passed=False, reason=f"{len(missing)} of {len(wanted)} missing: {excerpt(', '.join(missing))}"
        )
    return UnweightedResult(passed=True, reason=f"contains all {len(wanted)}")


def _any_in(wanted: list[str], text: str) -> UnweightedResult:
    for word in wanted:
        if word in text:
            return UnweightedResult(passed=True, reason=f"contains {excerpt(word)}")
    return UnweightedResult(passed=False, reason=f"contains none of {excerpt(', '.join(wanted))}")


def _searched(search: Elsewhere, text: str, evidence: Evidence) -> bool | Unmet:
    hit = evidence.regexes.get(RegexNeed(search.pattern, text))
    return (
        Unmet("the pattern needs a search with look-around or back-references, and none was made")
        if hit is None
        else hit
    )


TYPES: dict[str, AssertionKind] = {
    "contains": AssertionKind(contains, vet_scalar),
    "contains-all": AssertionKind(contains_all, vet_listed),
    "contains-any": AssertionKind(contains_any, vet_listed),
    "icontains": AssertionKind(icontains, vet_scalar),
    "icontains-all": AssertionKind(icontains_all, vet_listed),
    "icontains-any": AssertionKind(icontains_any, vet_listed),
    "regex": AssertionKind(regex, vet_pattern, regex_needs, may_ask=searched_elsewhere),
    "starts-with": AssertionKind(starts_with, vet_scalar),
}
