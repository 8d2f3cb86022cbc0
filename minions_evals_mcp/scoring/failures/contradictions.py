"""Statements that are the opposite of their source's: a negation more or less, or who did it and to whom the other way round."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.failed import Signal
from minions_evals_mcp.scoring.failures.mentions import ORDINARY, WORD, stem

NEGATED, ANSWERED, REVERSED = 0.65, 0.45, 0.75
SHARED, LEAST = 0.75, 2
"""How much of a clause must be in the source's clause for the two to speak of the same, and in how many words at least."""
MOST_CLAUSES = 300
LONGEST = 500
"""No clause and no sentence of more characters is compared."""
_CLAUSE = late(rf"(?<![^.!?;\n,])[^.!?;\n,]{{1,{LONGEST}}}(?![^.!?;\n,])")
_SENTENCE = late(rf"(?<![^.!?;\n])[^.!?;\n]{{1,{LONGEST}}}(?![^.!?;\n])")
_QUESTION = late(rf"(?<![^.!?\n])[^.!?\n]{{1,{LONGEST}}}\?")
_WHICH = late(
    r"\b(?:what|when|where|who|whom|whose|which|how|why|wann|wo|wohin|wer|wen|wem|welche\w*|wie|wieso|warum|quel\w*|quand|où|qui|comment|pourquoi|combien"
    r"|qué|cuándo|dónde|quién\w*|cuál\w*|cómo|cuánt\w+|cosa|quando|dove|chi|qual\w*|come|perché|quant\w+|onde|quem|como|por que)\b",
    re.IGNORECASE,
)
_NEGATION = late(
    r"\b(?:not(?! only)|no|never|none|nobody|nothing|neither|nor|without|cannot|nicht|keine?\w*|nie|niemals|ohne|ne|n'|pas|aucune?|jamais"
    r"|sans|nunca|ningun\w*|ningún|sin|non|nessun\w*|mai|senza|não|nenhum\w*|sem)\b|n't\b",
    re.IGNORECASE,
)
_PASSIVE = late(
    r"\b(?:was|were|is|are|been|be|being|wurde\w*|wird|worden|a été|fut|est|fue|fueron|è stat\w|foi)\b", re.IGNORECASE
)
_NAME = late(r"[^\W\d_a-zß-ÿ][\w'-]*(?: [^\W\d_a-zß-ÿ][\w'-]*){0,3}")
_DEED = late(r" (?:[a-zß-ÿ']+ ){1,4}")
"""What stands between two names of which one does something to the other: a verb and its little words, and no comma."""
_LAST = late(r" ([a-zß-ÿ]+)\s*")
_EMPTY = ORDINARY.union(
    "was were been have this that with from they will does did nicht kein keine eine wird wurde sind pour dans avec".split()  # noqa: SIM905  words
)
"""Words of which no clause speaks."""


def contradictions(answer: str, source: str, *, question: str = "") -> Iterator[Signal]:
    """Statements that the source makes the other way round; a wrong yes or no to a question of whether is an error, no invention."""
    negated = ANSWERED if _asks_whether(question) else NEGATED
    source = _QUESTION.sub("\n", source)
    known = [(clause, telling) for clause, telling in _clauses(source) if len(telling) >= LEAST]
    for clause, telling in _clauses(answer):
        against = next(
            (other for other, words in known if _same(telling, words) and _negated(other) != _negated(clause)), None
        )
        agrees = any(_same(telling, words) and _negated(other) == _negated(clause) for other, words in known)
        if against is not None and not agrees:
            yield Signal("negation", f"{clause.strip()} / {against.strip()}", negated)
    yield from _reversed(answer, source)


def _asks_whether(question: str) -> bool:
    questions = _QUESTION.findall(question)
    return bool(questions) and not any(_WHICH.search(question) for question in questions)


def _clauses(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    for match in islice(_CLAUSE.finditer(text), MOST_CLAUSES):
        words = (word for word in WORD.findall(match[0]) if len(word) > 3 and word.casefold() not in _EMPTY)
        yield match[0], frozenset(stem(word) for word in words)


def _same(words_of_one: frozenset[str], other: frozenset[str]) -> bool:
    """Returns whether two clauses speak of the same."""
    shared = words_of_one & other
    return (
        len(shared) >= LEAST
        and len(shared) >= SHARED * min(len(words_of_one), len(other))
        and len(shared) >= 0.5 * max(len(words_of_one), len(other))
    )


def _negated(clause: str) -> bool:
    return _NEGATION.search(clause) is not None


def _reversed(text: str, source: str) -> Iterator[Signal]:
    """Two names that change places around the same verb."""
    stated = {(first, verb, second) for first, verb, second, _ in _deeds(source)}
    for first, verb, second, sentence in _deeds(text):
        if (second, verb, first) in stated and (first, verb, second) not in stated:
            yield Signal("relation", sentence.strip(), REVERSED)


def _deeds(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Who, which verb, whom: two names of a sentence that follow each other, turned round where the verb is passive."""
    for match in islice(_SENTENCE.finditer(text), MOST_CLAUSES):
        sentence = match[0]
        names = [name for name in _NAME.finditer(sentence) if name[0].casefold() not in ORDINARY]
        for deed, two in pairwise(names):
            between = sentence[deed.end() : two.start()]
            if not _DEED.fullmatch(between):
                continue
            first, second = deed[0].casefold().split()[-1], two[0].casefold().split()[-1]
            if _PASSIVE.search(between):
                first, second = second, first
            # A German clause has its verb behind both names, at its end.
            behind = _LAST.fullmatch(sentence[two.end() :])
            for verb in (*_verbs(between), *(_verbs(behind[1]) if behind else ())):
                yield first, verb, second, sentence


def _verbs(text: str) -> list[str]:
    words = (word for word in WORD.findall(text) if len(word) > 3 and word[0].islower())
    return [stem(word) for word in words if word.casefold() not in _EMPTY]
