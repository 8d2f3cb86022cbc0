"""`similar`: the output means the same as a given text, told by an embedder's cosine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, Grader
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.checks import Evidence, SimilarityNeed, Subject, Unmet
from minions_evals_mcp.scoring.values import Found, shown

SIMILAR = "similar"
DEFAULT_THRESHOLD = 0.75
SLACK = 1e-9


def similar(assertion: Assertion, subject: Subject, evidence: Evidence) -> Found | Unmet:
    """The cosine of the output and `value`, or the best of several values, is at least `threshold` (default 0.75).

    The score is the cosine. Where numbers, dates or negation differ none the less the reason warns of it; the verdict
    stands.
    """
    from minions_evals_mcp.scoring.likeness.similarity import disagreements  # noqa: PLC0415  it reads failures, which read assertions

    best, nearest = -1.0, ""
    for wanted in _wanted(assertion.value):
        found = _measured(_need(wanted, assertion, subject), evidence)
        if isinstance(found, Unmet):
            return found
        if found > best:
            best, nearest = found, wanted
    limit = DEFAULT_THRESHOLD if assertion.threshold is None else assertion.threshold
    reason = f"similarity {best:.3f} to {shown(nearest)}, threshold {limit:g}"
    passed = best >= limit - SLACK
    cautions = disagreements(nearest, subject.text) if passed else ()
    return Found(passed, "; caution: ".join((reason, *cautions)), best)


def similar_needs(assertion: Assertion, subject: Subject) -> tuple[SimilarityNeed, ...]:
    """The likenesses that `similar` will look up; equal texts need none."""
    text = subject.text.strip()
    return tuple(_need(wanted, assertion, subject) for wanted in _wanted(assertion.value) if wanted.strip() != text)


def embedders_asked(assertions: Iterable[Assertion]) -> Iterator[Grader | None]:
    """The embedder of each assertion that needs one, those inside sets too; None: the run's."""
    for one in assertions:
        if one.base_type == SIMILAR:
            yield one.provider
        yield from embedders_asked(one.assertions)


def asks_similarity(assertions: Iterable[Assertion]) -> bool:
    """Whether any of the assertions, also inside a set, needs an embedder."""
    return any(True for _ in embedders_asked(assertions))


def vet_similar(assertion: Assertion) -> None:
    """Refuses a `value` that is no text or list of texts, and a `threshold` outside 0–1."""
    value = assertion.value
    wanted = value if isinstance(value, list) else [value]
    if not wanted or not all(isinstance(one, str) and one.strip() for one in wanted):
        raise InvalidRecordError(f"must be a text or a list of texts, not {shown(value)}", field="value")
    if assertion.threshold is not None and not 0 <= assertion.threshold <= 1:
        raise InvalidRecordError(f"must lie from 0 to 1, not {assertion.threshold:g}", field="threshold")


def _wanted(value: JsonValue) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _need(wanted: str, assertion: Assertion, subject: Subject) -> SimilarityNeed:
    return SimilarityNeed(subject.text, wanted, assertion.provider.name if assertion.provider else "")


def _measured(need: SimilarityNeed, evidence: Evidence) -> float | Unmet:
    if need.other.strip() == need.text.strip():
        return 1.0
    found = evidence.similarities.get(need)
    return Unmet("the likeness of the two texts was not measured") if found is None else found
