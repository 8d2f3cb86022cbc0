"""Checks of how many words an output shares with a reference: ROUGE-N, BLEU, GLEU.

Own functions, because rouge-score, sacrebleu and nltk tokenize and smooth otherwise; the numbers are promptfoo's.
Where promptfoo 0.121.20 and we differ:
- A number as `value` is read as its text; there it stops the evaluation.
- An empty output scores 0 in all three; there GLEU stops the evaluation.
- Outputs of more than 1,000,000 characters are not checked.
- ROUGE-N's contractions (`cannot`, `gonna`) end at Python's word boundary, which leaves out combining marks, and a
  quotation mark after a raised footnote letter does not open a quotation.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar
from unicodedata import category

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.assertions.kinds.text import TEXT_LIMIT
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt, js_text

JS_SPACE = "\t\n\x0b\x0c\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
JS_SPACES = JS_SPACE.replace("\u2000-\u200a", "".join(map(chr, range(0x2000, 0x200B))))
"""The same letters one by one, for `str.strip`."""
"""What JavaScript's `\\s` and `trim` take for white space, as the inside of a character class."""

_Key = TypeVar("_Key", str, tuple[str, ...])
ROUGE_THRESHOLD = 0.75
OVERLAP_THRESHOLD = 0.5
ORDERS = range(1, 5)
SMOOTHED = 1e-7

UNSPACED = " (careful: words are parted by spaces, and this script has none; llm-rubric or similar may fit better)"
_UNSPACED = late("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]{4}")
"""Thai, Lao, Burmese, Khmer, Kana and Chinese characters; a shorter stretch may be one word."""
_SPACES = late(f"[{JS_SPACE}]+")
_BLANKS = late(f"[{JS_SPACE}\x85]+")
_QUOTE = late("``|''|\"")
_PAUSE = late(r"([:,])(?!\d)")
_STOP_SEEN = 12
"""So many characters up to the last full stop say whether it ends a sentence."""
_AFTER_STOP = "])}>' "
_LAST_STOP = late(rf"([^.])(?<!\b[A-Za-z]\.[A-Za-z])(\.)([{re.escape(_AFTER_STOP)}]*)\Z", re.ASCII)
_CLITICS = (
    (late("([^'])' "), r"\1 ' "),
    (late("'([sSmMdD]) "), r" '\1 "),
    (late("('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) "), r" \1 "),
)
_CONTRACTIONS = tuple(
    (f"{first}{second}", late(rf"(?i)(?<![\w\u200c\u200d])({first})({second})(?![\w\u200c\u200d]){ahead}"))
    for first, second, ahead in (
        ("can", "not", ""),
        ("d", "'ye", ""),
        ("gim", "me", ""),
        ("gon", "na", ""),
        ("got", "ta", ""),
        ("lem", "me", ""),
        ("more", "'n", ""),
        ("wan", "na", "(?= )"),
        ("'t", "is", ""),
        ("'t", "was", ""),
    )
)


def rouge_n(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The F-measure of the single words that output and `value` share reaches `threshold` (default 0.75).

    Words by the Penn Treebank's rules, case folded, each counted as often as both have it (N is 1, as in promptfoo).
    """
    return _reached(assertion, subject, "ROUGE-N", rouge_score, ROUGE_THRESHOLD)


def bleu(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """BLEU of the output against the references in `value` (a text or a list) reaches `threshold` (default 0.5).

    Stretches of 1 to 4 words (as many as the output has), evenly weighted; a precision of 0 counts as 1e-7.
    """
    return _reached(assertion, subject, "BLEU", bleu_score, OVERLAP_THRESHOLD)


def gleu(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """GLEU of the output against the best reference in `value` (a text or a list) reaches `threshold` (default 0.5).

    The smaller of precision and recall over all stretches of 1 to 4 words; full stops at a word's end are dropped.
    """
    return _reached(assertion, subject, "GLEU", gleu_score, OVERLAP_THRESHOLD)


def vet_reference(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a text nor a number, and one of more than 1,000,000 characters."""
    value = assertion.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InvalidRecordError(f"must be a text, not {excerpt(value)}", field="value")
    if len(js_text(value)) > TEXT_LIMIT:
        raise InvalidRecordError(f"has more than {TEXT_LIMIT:,} characters", field="value")


def vet_references(assertion: Assertion) -> None:
    """Refuses a `value` that is neither a text nor a list of at least one text."""
    references = assertion.value if isinstance(assertion.value, list) else [assertion.value]
    if not references:
        raise InvalidRecordError("the list is empty", field="value")
    for reference in references:
        vet_reference(assertion.model_copy(update={"value": reference}))


def rouge_score(candidate: str, references: Sequence[str]) -> float:
    """ROUGE-1 against the first reference, 0 to 1."""
    ours, theirs = Counter(treebank_words(candidate.lower())), _treebank_counts(references[0].lower())
    shared = _shared(ours, theirs)
    if not shared:
        return 0.0
    precision, recall = shared / ours.total(), shared / theirs.total()
    return 2 * precision * recall / (precision + recall)


def bleu_score(candidate: str, references: Sequence[str]) -> float:
    """BLEU, 0 to 1; the reference whose length is nearest (the shorter of two) decides what brevity costs."""
    ours, theirs = words(candidate), [_known(reference) for reference in references]
    if ours == [""]:
        return 0.0
    orders = [n for n in ORDERS if n <= len(ours)]
    logarithms = 0.0
    for n in orders:
        counts = _stretches(ours, n)
        clipped = max(_shared(counts, reference.stretches[n]) for reference in theirs)
        logarithms += math.log(clipped / counts.total() or SMOOTHED)
    nearest = min((len(reference.words) for reference in theirs), key=lambda length: (abs(length - len(ours)), length))
    return min(1.0, math.exp(1 - nearest / len(ours))) * math.exp(logarithms / len(orders))


def gleu_score(candidate: str, references: Sequence[str]) -> float:
    """GLEU against the reference that gives most, 0 to 1."""
    ours = [word.rstrip(".") for word in words(candidate)]
    if not candidate or not _SPACES.sub("", candidate):
        return 0.0
    counts = {n: _stretches(ours, n) for n in ORDERS}
    return max(_one_gleu(ours, counts, _known(reference, dropped=".")) for reference in references)


def words(text: str) -> list[str]:
    """The words between JavaScript's white space, case folded; an empty text has one, which is empty."""
    return _SPACES.split(_SPACES.sub(" ", text.lower()).strip(" "))


def treebank_words(text: str) -> list[str]:
    """The words and marks of a sentence by the Penn Treebank's rules: quotes, punctuation and clitics stand alone."""
    text = _BLANKS.sub(" ", text).strip(" ")
    parted = f" {_marks_parted(_quotes_parted(text))} "
    for pattern, apart in _CLITICS if "'" in parted else ():
        parted = pattern.sub(apart, parted)
    folded = parted.replace("\u0131", "i").replace("\u0130", "i").casefold()  # as a pattern without case takes them
    for contracted, pattern in _CONTRACTIONS:
        if contracted in folded:
            parted = pattern.sub(r" \1 \2 ", parted)
    return [word for word in parted.split(" ") if word]


def _marks_parted(text: str) -> str:
    """The text with its marks apart; what stands in no text is looked for as a text, which costs a tenth of a pattern."""
    text = text.replace("...", " ... ")
    if ":" in text or "," in text:
        text = _PAUSE.sub(r" \1 ", text)
    text = _apart(text, ";@#$%&")
    if text.rstrip(_AFTER_STOP).endswith("."):
        start = max(0, len(text.rstrip(_AFTER_STOP)) - _STOP_SEEN)
        text = text[:start] + _LAST_STOP.sub(r"\1 \2\3 ", text[start:])
    return _apart(text, "?!][(){}<>").replace("--", " -- ")


def _apart(text: str, marks: str) -> str:
    for mark in marks:
        text = text.replace(mark, f" {mark} ")
    return text


def _quotes_parted(text: str) -> str:
    quotes = list(_QUOTE.finditer(text))
    parts: list[str] = []
    inside, end = False, 0
    for quote, following in zip(quotes, [*quotes[1:], None], strict=False):
        paired = following is not None and following[0] == "''"
        inside = _opens(text, quote, paired=paired, inside=inside)
        parts += [text[end : quote.start()], " `` " if inside else " '' "]
        end = quote.end()
    return "".join([*parts, text[end:]])


def _opens(text: str, quote: re.Match[str], *, paired: bool, inside: bool) -> bool:
    if quote[0] == "``":
        return True
    start, before = quote.start(), text[quote.start() - 1 : quote.start()]
    if inside or before in {".", "!", "?"}:
        return False
    if start > 0 and not (before in " <" or category(before)[0] == "P" or text[:start].endswith("``")):
        return False
    if start > 0 and quote.end() == len(text) and not (before in " <" or category(before) == "Ps"):
        return False
    return quote[0] == '"' or (start > 0 and paired and _begins_word(text[quote.end() : quote.end() + 1]))


def _begins_word(character: str) -> bool:
    return bool(character) and (category(character)[0] in "LN" or category(character) in {"Sc", "Ps"})


def _one_gleu(ours: Sequence[str], counts: Mapping[int, Counter[tuple[str, ...]]], theirs: _Reference) -> float:
    if ours == theirs.words:
        return 1.0
    shared = sum(_shared(counts[n], theirs.stretches[n]) for n in ORDERS)
    return shared / max(sum(max(len(side) - n + 1, 0) for n in ORDERS) for side in (ours, theirs.words))


class _Reference(NamedTuple):
    """A reference's words, and how often it has each stretch of 1 to 4 of them."""

    words: list[str]
    stretches: Mapping[int, Counter[tuple[str, ...]]]


@lru_cache(maxsize=64)
def _known(reference: str, dropped: str = "") -> _Reference:
    """A reference as it is compared with, remembered for the next output; `dropped` are marks at a word's end."""
    words_kept = [word.rstrip(dropped) for word in words(reference)] if dropped else words(reference)
    return _Reference(words_kept, {n: _stretches(words_kept, n) for n in ORDERS})


@lru_cache(maxsize=64)
def _treebank_counts(reference: str) -> Counter[str]:
    return Counter(treebank_words(reference))


def _stretches(words_given: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words_given[start:] for start in range(length)), strict=False))


def _shared(ours: Counter[_Key], theirs: Counter[_Key]) -> int:
    return sum(min(ours[key], theirs[key]) for key in ours.keys() & theirs.keys())


def _reached(
    assertion: Assertion,
    subject: Subject,
    name: str,
    scored: Callable[[str, Sequence[str]], float],
    default: float,
) -> UnweightedResult | Unmet:
    if len(subject.text) > TEXT_LIMIT:
        return Unmet(f"the output has {len(subject.text):,} characters; at most {TEXT_LIMIT:,} are compared")
    references = references_of(assertion.value)
    score = scored(subject.text, references)
    threshold = default if assertion.threshold is None else assertion.threshold
    warning = unspaced(subject.text, *references)
    return UnweightedResult(score >= threshold, f"{name} {score:.4f}, threshold {threshold:g}{warning}", score)


def unspaced(*texts: str) -> str:
    """A warning where words are counted in a script that puts no spaces between them; empty elsewhere."""
    return UNSPACED if any(not text.isascii() and _UNSPACED.search(text) for text in texts) else ""


def references_of(value: JsonValue) -> list[str]:
    """The texts that an output is compared with."""
    return [js_text(reference) for reference in value] if isinstance(value, list) else [js_text(value)]


TYPES: dict[str, AssertionKind] = {
    "bleu": AssertionKind(bleu, vet_references),
    "gleu": AssertionKind(gleu, vet_references),
    "rouge-n": AssertionKind(rouge_n, vet_reference),
}
