"""Checks of a measure against a limit: words, edit distance, time, cost."""

from __future__ import annotations

import struct
from math import inf, isfinite

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.overlap import unspaced
from minions_evals_mcp.scoring.assertions.kinds.text import TEXT_LIMIT
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt, js_text

DEFAULT_DISTANCE = 5
DISTANCE_VALUE_LIMIT = 100_000
_LARGEST_CUTOFF = 4 * TEXT_LIMIT
_SEPARATORS = "\x1c\x1d\x1e\x1f"
_WORD = late("[^\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")


def word_count(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult:
    """The number of words (stretches without white space) is `value`, or lies in {min, max}, both inclusive."""
    count = words_in(subject.text)
    low, high = _bounds(assertion.value)
    wanted = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return UnweightedResult(low <= count <= high, f"{count} words, wanted {wanted}{unspaced(subject.text)}")


def words_in(text: str) -> int:
    """Returns how many stretches stand between JavaScript's white space."""
    # Python and JavaScript part ASCII text alike, but for the four separators that are white space to Python only.
    return (
        len(text.split())
        if text.isascii() and not any(mark in text for mark in _SEPARATORS)
        else len(_WORD.findall(text))
    )


def levenshtein(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """At most `threshold` (default 5) characters are to be inserted, deleted or replaced to make the output `value`.

    Characters are UTF-16 units, as in promptfoo; the score is 1 or 0, not a ratio.
    """
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415  imported at first use: 15 ms

    if len(subject.text) > TEXT_LIMIT:
        return Unmet(f"the output has {len(subject.text):,} characters; at most {TEXT_LIMIT:,} are compared")
    limit = DEFAULT_DISTANCE if assertion.threshold is None else assertion.threshold
    distance = Levenshtein.distance(
        _units(subject.text), _units(js_text(assertion.value)), score_cutoff=int(min(limit, _LARGEST_CUTOFF))
    )
    passed = distance <= limit
    return UnweightedResult(passed, f"edit distance {distance if passed else f'over {limit:g}'}, limit {limit:g}")


def latency(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The output took at most `threshold` milliseconds, which must be given."""
    return _within(assertion, subject.latency_ms, "latency", "ms")


def cost(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The output cost at most `threshold` US dollars, which must be given."""
    return _within(assertion, subject.cost_usd, "cost", "USD")


def vet_count(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a number nor {min, max} with at least one of them."""
    value = assertion.value
    if isinstance(value, dict):
        if not value or value.keys() - {"min", "max"}:
            raise InvalidRecordError(
                f'must have "min" and/or "max" and nothing else, not {excerpt(value)}', field="value"
            )
        low, high = _bounds(value)
        if low > high:
            raise InvalidRecordError(f"min {low:g} is greater than max {high:g}", field="value")
    else:
        _number(value)


def vet_distance(assertion: Assertion) -> None:
    """Refuses a `value` that is no text or too long a one, and a negative `threshold`."""
    value = assertion.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidRecordError(f"must be a text, not {excerpt(value)}", field="value")
    if len(js_text(value)) > DISTANCE_VALUE_LIMIT:
        raise InvalidRecordError(f"has more than {DISTANCE_VALUE_LIMIT:,} characters", field="value")
    if assertion.threshold is not None:
        vet_limit(assertion)


def vet_limit(assertion: Assertion) -> None:
    """Refuses an assertion without a `threshold`, or with a negative one."""
    if assertion.threshold is None:
        raise InvalidRecordError("is missing; it is the limit", field="threshold")
    if assertion.threshold < 0:
        raise InvalidRecordError(f"must be 0 or more, not {assertion.threshold:g}", field="threshold")


def _within(assertion: Assertion, measured: float | None, name: str, unit: str) -> UnweightedResult | Unmet:
    limit = assertion.threshold
    if measured is None:
        return Unmet(f"the {name} of the output is unknown", not_judgeable=True)
    if limit is None:
        return Unmet(f"{name} has no threshold")
    if not 0 <= measured < inf:
        return Unmet(f"a {name} of {measured:g} {unit} was reported for the output, and a {name} is a number from 0")
    return UnweightedResult(measured <= limit, f"{name} {measured:g} {unit}, limit {limit:g} {unit}")


def _bounds(value: JsonValue) -> tuple[float, float]:
    if not isinstance(value, dict):
        exact = _number(value)
        return exact, exact
    return _number(value.get("min", 0)), _number(value["max"]) if "max" in value else inf


def _number(value: JsonValue) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else inf
    except (ValueError, OverflowError):
        number = inf
    if not isfinite(number):
        raise InvalidRecordError(f"must be a number, or {{min, max}}, not {excerpt(value)}", field="value")
    return number


def _units(text: str) -> str:
    """The text with each character beyond U+FFFF as the two units that JavaScript counts."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, struct.unpack(f"<{len(units) // 2}H", units)))


TYPES: dict[str, AssertionKind] = {
    "cost": AssertionKind(cost, vet_limit),
    "latency": AssertionKind(latency, vet_limit),
    "levenshtein": AssertionKind(levenshtein, vet_distance),
    "word-count": AssertionKind(word_count, vet_count),
}
