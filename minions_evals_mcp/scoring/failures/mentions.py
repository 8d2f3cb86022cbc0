"""Names, links, quotations and identifiers in a text: what a reader could look up."""

from __future__ import annotations

import re
from collections.abc import Iterator

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.dates import WEEKDAYS

WORD = late(r"[^\W\d_][\w']*(?:-\w+)*")
LINK = late(r"(?:https?://|(?<!\w)www\.)[^\s<>\"'`)\]}]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,190}")
QUOTE = late(r"[\"“”«„]([^\"“”«»„\n]{12,400})[\"“”»]")
IDENTIFIER = late(r"(?<![\w.])[A-Za-z0-9]+(?:[-_/][A-Za-z0-9]+)*")
_MEASURE = late(r"[0-9]+[A-Za-z-]*|[A-Za-z]*[0-9]|[0-9/-]+")
_ORDINARY = """
    a about above according additionally after all also although an and answer any are as at based because
    before below best both but by can contact customer customers dear did do does during each either even every
    finally first for from further given good had has have he hello her here hi his how however i i'm i've if in
    indeed instead is it its kind last later let many most mr mrs ms dr prof my next no none not note now of on
    once one only or other our overall per please regards second she should since sincerely so some sorry step
    still such summary sure team thank thanks that the their then there therefore these they third this those
    though three thus to today together tomorrow total two under unfortunately until use user we what when where
    whether which while who why will with within without would yes yesterday yet you your ai api faq id json ok
    pdf sql url celsius fahrenheit english internet service support department office manager management
    i'd i'll we'd we'll we've you'll it's sie ihr ihre ihren ihrem ihrer ihnen
"""
ORDINARY = frozenset(_ORDINARY.split()) | frozenset(WEEKDAYS)
"""Words that are no name, though a sentence or a heading gives them a capital."""
_GERMAN = """
    der die das und ist nicht ein eine einen einem einer mit für auf um wird wurde sind war von zu den dem des im bei es er sie ich wir hat
    haben auch am zum zur vom nach aus über unter als wie bis noch kein keine keinen habe hatte ihr ihre ihren ihnen mein meine dass
"""
GERMAN = frozenset(_GERMAN.split())
_TITLES = ("dr", "mr", "mrs", "ms", "prof", "st")
_SENTENCE_END = '.!?:;\n"“”«»„(•*|>\u2013\u2014'


def names(text: str) -> Iterator[tuple[str, ...]]:
    """Runs of capitalised words that may be names, without a sentence's first word and without headings.

    German gives every noun a capital: there only two of them in a row are told.
    """
    words = list(WORD.finditer(text))
    if len(GERMAN & {match[0].casefold() for match in words}) > 1:
        yield from (name for name in _named(text, words) if len(name) > 1)
        return
    yield from _named(text, words)


def _named(text: str, words: list[re.Match[str]]) -> Iterator[tuple[str, ...]]:
    """The names among the words, by their capitals."""
    run: list[re.Match[str]] = []
    for match in words:
        if run and not _goes_on(text, run[-1], match):
            yield from _name(text, run)
            run = []
        if match[0][0].isupper():
            run.append(match)
        elif run:
            yield from _name(text, run)
            run = []
    if run:
        yield from _name(text, run)


def is_identifier(token: str) -> bool:
    """Returns whether the token is a code: letters and at least two digits that are no measure, no year and no range."""
    if len(token) > 64 or _MEASURE.fullmatch(token):
        return False
    return sum(character.isdigit() for character in token) >= 2 and any(character.isalpha() for character in token)


def bare_link(link: str) -> str:
    """The link without its scheme, `www.` and the punctuation after it."""
    lowered = link.casefold().rstrip(".,;:!?/*_")
    return lowered.removeprefix("https://").removeprefix("http://").removeprefix("www.")


def squeezed(text: str) -> str:
    """The text as case-folded words with one space between: quotations are compared so."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def stem(word: str) -> str:
    """The beginning that a word shares with its other forms."""
    return word.casefold().removesuffix("'s")[:5]


def _goes_on(text: str, last: re.Match[str], match: re.Match[str]) -> bool:
    """Returns whether the word follows the last one within a name: after a space, or the point of a title or an initial."""
    between = text[last.end() : match.start()]
    return between == " " or (between == ". " and (len(last[0]) == 1 or last[0].casefold() in _TITLES))


def _name(text: str, run: list[re.Match[str]]) -> Iterator[tuple[str, ...]]:
    words = [match[0] for match in run]
    if _starts_sentence(text, run[0].start()):
        if _is_heading(text, run[-1].end()):
            return
        words = words[1:]
    words = [word for word in words if word.casefold() not in ORDINARY and not (word.isupper() and len(run) == 1)]
    if words:
        yield tuple(words)


def _starts_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 8) : start].rstrip(" \t'`_#-")
    return not before or before[-1] in _SENTENCE_END


def _is_heading(text: str, end: int) -> bool:
    """Returns whether the line that the run began ends with it, as a heading or a label does, and more follows."""
    after = text[end : end + 4].lstrip("*_ ")
    return after.startswith((":", "\n")) and end + 4 < len(text)
