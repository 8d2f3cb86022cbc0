"""`meteor`: how far the words of an output are those of a reference, their stems' or their synonyms', and in its order.

The words are aligned and weighed as promptfoo 0.123.1 does. Where it and we differ: it looks synonyms up in WordNet 3.1, we
in the WordNet that is there (3.1 before 3.0); stems are those of nltk's Porter with his own extensions, which differ in 17 of
the 83,253 single words of WordNet; an output without words scores 0, there it stops the test. Synonyms are looked up for
stems, as there: `quickly` is not `rapidly`, whose stem is no word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.overlap import JS_SPACE, references_of, unspaced
from minions_evals_mcp.scoring.checks import Evidence, Subject, SynonymNeed, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

METEOR = "meteor"
WEIGHTS = {"alpha": 0.9, "beta": 3.0, "gamma": 0.5}
"""What precision weighs against recall; the penalty's exponent and its most."""
THRESHOLD = 0.5
MOST_WORDS = 100_000
NO_STEMMER = Unmet("it needs the package nltk: pip install 'minions-evals-mcp[meteor]'")
_SPACES = late(f"[{JS_SPACE}]+")
Places = dict[str, list[int]]
"""Where each word stands, first place first."""
Pair = tuple[int, int]


class _Left(NamedTuple):
    """The alignment so far, and the words of output and reference that are not, as stems."""

    pairs: list[Pair]
    output: list[tuple[int, str]]
    reference: Places


def meteor(assertion: Assertion, subject: Subject, evidence: Evidence) -> UnweightedResult | Unmet:
    """METEOR of the output against `value`, the best of several, reaches `threshold` (.5); `config` gives alpha, beta, gamma.

    Synonyms are WordNet's, which is looked for among the data of nltk (`NLTK_DATA`) and under /usr/share/wordnet.
    """
    if stemmer() is None:
        return NO_STEMMER
    output = _words(subject.text)
    if len(output) > MOST_WORDS:
        return Unmet(f"outputs of more than {MOST_WORDS} words are not checked")
    scores: list[float] = []
    for reference in references_of(assertion.value):
        words = _words(reference)
        score = _score(output, words, evidence, _weights(assertion))
        if isinstance(score, Unmet):
            return score
        scores.append(score)
    limit = THRESHOLD if assertion.threshold is None else assertion.threshold
    best = max(scores)
    warning = unspaced(subject.text, *references_of(assertion.value))
    return UnweightedResult(best >= limit, f"METEOR {best:.4f}, threshold {limit:g}{warning}", best)


def meteor_needs(assertion: Assertion, subject: Subject) -> tuple[SynonymNeed, ...]:
    """The synonyms that are looked up: of the words that the reference has neither as they stand nor by their stems."""
    output = _words(subject.text)
    if stemmer() is None or len(output) > MOST_WORDS:
        return ()
    left = (_by_stems(output, _words(reference)) for reference in references_of(assertion.value))
    return tuple(dict.fromkeys(need for pair in left for need in _needed(pair)))


def vet_meteor(assertion: Assertion) -> None:
    """Refuses a `value` that is no text or list of texts, a `threshold` outside 0 to 1, and weights that are no numbers."""
    references = assertion.value if isinstance(assertion.value, list) else [assertion.value]
    if not references or not all(isinstance(reference, str) for reference in references):
        raise InvalidRecordError(f"must be a text or a list of texts, not {excerpt(assertion.value)}", field="value")
    if assertion.threshold is not None and not 0 <= assertion.threshold <= 1:
        raise InvalidRecordError(f"must be from 0 to 1, not {assertion.threshold:g}", field="threshold")
    config = assertion.config if isinstance(assertion.config, dict) else {}
    wrong = [name for name, value in config.items() if name not in WEIGHTS or not _is_weight(value)]
    if wrong or (assertion.config is not None and not config):
        raise InvalidRecordError(f"holds {', '.join(WEIGHTS)}: numbers from 0 on", field="config")


def asks_wordnet(assertions: Iterable[Assertion]) -> bool:
    """Returns whether synonyms may be looked up for any of the assertions, those inside sets too."""
    return any(assertion.base_type == METEOR or asks_wordnet(assertion.assertions) for assertion in assertions)


@cache
def stemmer() -> Callable[[str], str] | None:
    """Returns what gives the stem of a word; None where nltk is not installed."""
    try:
        from nltk.stem.porter import PorterStemmer  # noqa: PLC0415  an extra, and slow: imported at first use
    except ModuleNotFoundError:
        return None
    porter = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)

    @cache
    def stem(word: str) -> str:
        return cast("str", porter.stem(word))  # untyped there

    return stem


def _is_weight(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _weights(assertion: Assertion) -> Mapping[str, float]:
    config = assertion.config if isinstance(assertion.config, dict) else {}
    return {**WEIGHTS, **{name: value for name, value in config.items() if isinstance(value, int | float)}}


def _words(text: str) -> list[str]:
    return [word.rstrip(".").lower() for word in _SPACES.split(text)] if text else []


def _score(
    output: Sequence[str], reference: Sequence[str], evidence: Evidence, weights: Mapping[str, float]
) -> float | Unmet:
    left = _by_stems(output, reference)
    pairs = [*left.pairs]
    for need in _needed(left):
        synonyms = evidence.synonyms.get(need, Unmet("synonyms were not looked up"))
        if isinstance(synonyms, Unmet):
            return synonyms
        pairs += _aligned(left.output, left.reference, lambda stem, known=synonyms: {stem, *known.get(stem, ())})[0]
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(output), len(pairs) / len(reference)
    mean = precision * recall / (weights["alpha"] * precision + (1 - weights["alpha"]) * recall)
    scattered = _chunks(sorted(pairs)) / len(pairs)
    return (1 - weights["gamma"] * scattered ** weights["beta"]) * mean


def _needed(left: _Left) -> Iterator[SynonymNeed]:
    stems = {stem for _, stem in left.output} - {""}  # white space alone parts into blank words
    if stems and left.reference:
        yield SynonymNeed(tuple(sorted(stems)))


def _by_stems(output: Sequence[str], reference: Sequence[str]) -> _Left:
    """The words that are the same as they stand, then by their stems."""
    stem = stemmer()
    assert stem is not None, "asked before"
    pairs, left = _aligned([*enumerate(output)], _places(enumerate(reference)), lambda word: {word})
    taken = {place for _, place in pairs}
    stems = _places((place, stem(word)) for place, word in enumerate(reference) if place not in taken)
    by_stem, rest = _aligned([(place, stem(word)) for place, word in left], stems, lambda word: {word})
    return _Left([*pairs, *by_stem], rest, stems)


def _places(words: Iterable[tuple[int, str]]) -> Places:
    places: Places = {}
    for place, word in words:
        places.setdefault(word, []).append(place)
    return places


def _aligned(
    output: Sequence[tuple[int, str]], reference: Places, meanings: Callable[[str], Iterable[str]]
) -> tuple[list[Pair], list[tuple[int, str]]]:
    """Pairs of places, from the last word to the first, each with the last word of the reference that is left and means it.

    Those are taken out of `reference`; with them the words of the output that are left.
    """
    pairs: list[Pair] = []
    left: list[tuple[int, str]] = []
    for place, word in reversed(output):
        known = [meaning for meaning in meanings(word) if reference.get(meaning)]
        if not known:
            left.append((place, word))
            continue
        nearest = max(known, key=lambda meaning: reference[meaning][-1])
        pairs.append((place, reference[nearest].pop()))
        if not reference[nearest]:
            del reference[nearest]
    return pairs, left[::-1]


def _chunks(pairs: Sequence[Pair]) -> int:
    """Stretches in which output and reference go on alike."""
    follows = (after[0] == pair[0] + 1 and after[1] == pair[1] + 1 for pair, after in pairwise(pairs))
    return 1 + sum(not follows_next for follows_next in follows)


TYPES: dict[str, AssertionKind] = {
    METEOR: AssertionKind(meteor, vet_meteor, meteor_needs),
}
