"""A text turned into its contrary, in the languages that people write most."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_Swap = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _swap(pattern: str, other: str | Callable[[re.Match[str]], str]) -> _Swap:
    return re.compile(pattern, re.IGNORECASE), other


class Turned(NamedTuple):
    """The contrary of a text; `sure`: nobody would call both right."""

    text: str
    sure: bool = True


ANSWERS: dict[str, str] = {
    "yes": "no", "no": "yes", "true": "false", "false": "true", "ja": "nein", "nein": "ja", "oui": "non", "non": "oui",
    "sí": "no", "si": "no", "sì": "no", "sim": "não", "não": "sim", "wahr": "falsch", "falsch": "wahr", "vrai": "faux",
    "faux": "vrai", "correct": "incorrect", "incorrect": "correct", "valid": "invalid", "invalid": "valid",
    "approved": "rejected", "rejected": "approved", "pass": "fail", "fail": "pass", "passed": "failed", "failed": "passed",
    "allowed": "forbidden", "possible": "impossible", "positive": "negative", "negative": "positive",
    "eligible": "not eligible", "safe": "unsafe", "unsafe": "safe", "spam": "not spam", "accepted": "refused",
}  # fmt: skip
_ANSWER = re.compile(r"\s*(?P<word>[^\W\d_]+)(?=[\s,.;:!]|\Z)", re.UNICODE)

_TAKEN_OUT: tuple[_Swap, ...] = (
    _swap(r"\bcan(?:not|['’]t)\b", "can"),
    _swap(r"\b(can|could|do|does|did|is|are|was|were|has|have|had|would|should|must|need)n['’]t\b", r"\1"),
    _swap(r"\bwon['’]t\b", "will"),
    _swap(
        r"\b(is|are|was|were|can|could|do|does|did|has|have|had|will|would|should|must|may|might|am|be) not\b", r"\1"
    ),
    _swap(r"\b(is|are|was|were|has|have|had|be) no longer\b", r"\1 still"),
    _swap(r"\b(is|are|was|were|has|have|had|there's) no\b", r"\1 a"),
    _swap(r"\bnever\b", "always"),
    _swap(r"\bnot (?!only\b)", ""),
    _swap(r"\bwithout\b", "with"),
    _swap(r"\bnicht ", ""),
    _swap(r"\bkein(e|en|em|er|es)?\b", r"ein\1"),
    _swap(r"\bn['’]([eéèaàhoyu]\w*) pas\b", r"\1"),
    _swap(r"\bne (\w+) pas\b", r"\1"),
    _swap(r"\b(?:no|non|não) (es|está|son|están|puede|pueden|hay|è|sono|può|possono|é|são|pode|podem|está)\b", r"\1"),
    _swap(r"\bno\s+(?=\w+ (?:is|are|was|were|can|may)\b)", ""),
    _swap(r"\bno (?=[a-z])", "a "),
)
_PUT_IN: tuple[_Swap, ...] = (
    _swap(r"\bcan\b(?! not|['’])", "cannot"),
    _swap(r"\b(is|are|was|were|will|would|could|should|must|may|might|am|has been|have been|had been)\b(?! not)", r"\1 not"),
    _swap(r"\b(i|you|we|they|it|he|she)['’](ll|re|m|s)\b", r"\1'\2 not"),
    _swap(r"\b(has|have|had)\b (?=\w+(?:ed|en|t)\b)", r"\1 not "),
    _swap(r"\b(has|have|had)\b", r"\1 no"),
    _swap(r"\b(ist|sind|war|waren|wird|werden|kann|können|darf|dürfen|muss|müssen|hat|haben|soll|sollen|gilt|gelten)\b", r"\1 nicht"),
    _swap(r"\b(est|sont|était|étaient)\b", lambda verb: f"n'{verb[1]} pas"),
    _swap(r"\b(peut|peuvent|sera|seront|doit|doivent|va|vont|coûte|ferme|faut|vaut)\b", r"ne \1 pas"),
    _swap(r"\b(es|está|son|están|puede|pueden|será|serán|debe|deben|hay|tiene|tienen|cuesta|abre)\b", r"no \1"),
    _swap(r"(?<!\w)(è|sono|può|possono|sarà|saranno|deve|devono|costa)(?!\w)", r"non \1"),
    _swap(r"(?<!\w)(é|são|pode|podem|será|serão|tem|têm|custa)(?!\w)", r"não \1"),
    _swap(r"\balways\b", "never"),
    _swap(r"\bwith\b", "without"),
    _swap(r"\b(arrives|ships|costs|opens|closes|leaves|takes|includes|covers|needs|requires|works|applies|starts|ends|goes|comes"
          r"|lasts|contains|supports|allows|accepts|offers|means|returns|runs|expires|boils|freezes|orbits|lies|stands|belongs"
          r"|consists|uses|gives|makes|gets|keeps|remains|depends|happens|occurs|exists)\b", r"never \1"),
    _swap(r"\b(wrote|painted|invented|discovered|won|began|ended|opened|founded|built|designed|composed|became|signed|released"
          r"|launched|refunded|cancelled|canceled|approved|confirmed|shipped|delivered|rose|fell|increased|decreased|died|moved)\b",
          r"never \1"),
    _swap(r"^(please )?(press|click|open|select|choose|turn|unplug|plug|wait|go|enter|type|run|install|restart|remove|add|call"
          r"|contact|send|use|keep|store|take|put|check|set|save|close|visit|return|apply|submit)\b", r"\1do not \2"),
)  # fmt: skip
_SENTENCE = re.compile(r"(?:(?<![^\S\n])[^\S\n]++)?[^\s.!?][^.!?\n]*+(?:\.\d[^.!?\n]*)*[.!?]*\s*")
MOST_SENTENCES = 3


def contraries(text: str) -> Iterator[Turned]:
    """The text with what it says turned round: its yes or no with its main clause, else its first sentences one by one."""
    answer = _ANSWER.match(text)
    word = answer["word"].casefold() if answer else ""
    if answer is not None and word in ANSWERS:
        rest = text[answer.end() :]
        if rest.strip(" .,;:!"):
            if word in _YES_NO:
                yield Turned(_as(answer["word"], ANSWERS[word]) + _first_turned(rest))
                return
        else:
            yield Turned(_as(answer["word"], ANSWERS[word]) + rest)
            return
    several = list(_SENTENCE.finditer(text))[:MOST_SENTENCES]
    for number, match in enumerate(several):
        turned = turned_clause(match[0])
        if turned is not None:
            yield Turned(f"{text[: match.start()]}{turned}{text[match.end() :]}", sure=number == 0 or len(several) < 3)
            return


_YES_NO = frozenset({"yes", "no", "ja", "nein", "oui", "non", "sí", "si", "sì", "sim", "não", "true", "false"})


def _first_turned(text: str) -> str:
    match = _SENTENCE.search(text)
    turned = None if match is None else turned_clause(match[0])
    return text if match is None or turned is None else f"{text[: match.start()]}{turned}{text[match.end() :]}"


def turned_clause(sentence: str) -> str | None:
    """The sentence with its negation taken out, else with one put in; None where no verb of it is known."""
    for swaps in (_TAKEN_OUT, _PUT_IN):
        for pattern, other in swaps:
            turned, count = pattern.subn(other, sentence, count=1)
            if count and turned != sentence:
                return turned
    return None


def _as(word: str, other: str) -> str:
    return other.capitalize() if word[0].isupper() else other
