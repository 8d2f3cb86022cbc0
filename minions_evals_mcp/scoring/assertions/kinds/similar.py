"""`similar`: the output means the same as a given text, told by an embedder's vectors.

The verdicts are promptfoo's. The vectors of the embedders that run here are taken at length 1, and a dot product
beyond 0–1 counts as 0 or 1 in the score, which there it leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, Grader
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Evidence, Likeness, SimilarityNeed, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

SIMILAR: dict[str, Likeness] = {
    "similar": "cosine",
    "similar:cosine": "cosine",
    "similar:dot": "dot",
    "similar:euclidean": "euclidean",
}
"""The measure of each type."""
DEFAULT_THRESHOLD = 0.75
SLACK = 1e-9


def similar(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """The output is as like `value`, or the nearest of several, as `threshold` (default 0.75) asks.

    `similar` and `similar:cosine`: the cosine is at least the threshold, and is the score. `similar:dot`: so is the dot
    product (as a score cut to 0–1). `similar:euclidean`: the distance is at most the threshold; the score is
    1 / (1 + distance). Where numbers, dates or negation differ none the less the reason warns of it; the verdict stands.
    """
    from minions_evals_mcp.scoring.likeness.similarity import disagreements  # noqa: PLC0415  it reads failures, which read assertions

    measure = SIMILAR[assertion.base_type]
    measured: list[tuple[float, str]] = []
    for wanted in _wanted(assertion.value):
        similarity = _measured(_need(wanted, assertion, subject), evidence)
        if isinstance(similarity, Unmet):
            return similarity
        measured.append((similarity, wanted))
    best, nearest = (min if measure == "euclidean" else max)(measured, key=itemgetter(0))
    limit = DEFAULT_THRESHOLD if assertion.threshold is None else assertion.threshold
    reason = f"{_SAID[measure]} {best:.3f} to {excerpt(nearest)}, threshold {limit:g}"
    passed = best <= limit + SLACK if measure == "euclidean" else best >= limit - SLACK
    cautions = disagreements(nearest, subject.text) if passed else ()
    return UnweightedResult(passed, "; caution: ".join((reason, *cautions)), _score(measure, best))


_SAID: dict[Likeness, str] = {"cosine": "similarity", "dot": "dot product", "euclidean": "distance"}


def _score(measure: Likeness, measured: float) -> float:
    return 1 / (1 + measured) if measure == "euclidean" else min(1.0, max(0.0, measured))


def similar_needs(assertion: Assertion, subject: Subject) -> tuple[SimilarityNeed, ...]:
    """The likenesses that will be looked up; equal texts need none, but for the dot product, which asks how long they are."""
    text = subject.text.strip()
    wanted = _wanted(assertion.value)
    references = (
        wanted
        if SIMILAR[assertion.base_type] == "dot"
        else [reference for reference in wanted if reference.strip() != text]
    )
    return tuple(_need(reference, assertion, subject) for reference in references)


def embedders_asked(assertions: Iterable[Assertion]) -> Iterator[Grader | None]:
    """The embedder of each assertion that needs one, those inside sets too; None: the run's."""
    for assertion in assertions:
        if assertion.base_type in SIMILAR:
            yield assertion.provider
        yield from embedders_asked(assertion.assertions)


def asks_similarity(assertions: Iterable[Assertion]) -> bool:
    """Returns whether any of the assertions, also inside a set, needs an embedder."""
    return any(True for _ in embedders_asked(assertions))


def vet_similar(assertion: Assertion) -> None:
    """Refuses a `value` that is no text or list of texts, and a `threshold` that the measure cannot have."""
    value = assertion.value
    wanted = value if isinstance(value, list) else [value]
    if not wanted or not all(isinstance(reference, str) and reference.strip() for reference in wanted):
        raise InvalidRecordError(f"must be a text or a list of texts, not {excerpt(value)}", field="value")
    if (threshold := assertion.threshold) is None:
        return
    measure = SIMILAR[assertion.base_type]
    if measure == "cosine" and not 0 <= threshold <= 1:
        raise InvalidRecordError(f"must be from 0 to 1, not {threshold:g}", field="threshold")
    if measure == "euclidean" and threshold < 0:
        raise InvalidRecordError(f"is a distance, which is not below 0, not {threshold:g}", field="threshold")


def _wanted(value: JsonValue) -> list[str]:
    return [str(reference) for reference in value] if isinstance(value, list) else [str(value)]


def _need(wanted: str, assertion: Assertion, subject: Subject) -> SimilarityNeed:
    embedder = assertion.provider.name if assertion.provider else ""
    return SimilarityNeed(subject.text, wanted, embedder, SIMILAR[assertion.base_type])


def _measured(need: SimilarityNeed, evidence: Evidence) -> float | Unmet:
    if need.measure != "dot" and need.other.strip() == need.text.strip():
        return 0.0 if need.measure == "euclidean" else 1.0
    similarity = evidence.similarities.get(need)
    return Unmet("the similarity of the two texts was not measured") if similarity is None else similarity


TYPES: dict[str, AssertionKind] = {
    **dict.fromkeys(SIMILAR, AssertionKind(similar, vet_similar, similar_needs)),
}
