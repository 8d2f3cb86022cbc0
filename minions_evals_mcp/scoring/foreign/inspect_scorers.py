"""Inspect's own scorers by their documented meaning (inspect-ai 0.3.285): match, includes, pattern, answer, exact, f1, choice."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, cast

from pydantic import JsonValue

from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.scoring.foreign.inspect_choices import chosen, positions
from minions_evals_mcp.scoring.foreign.inspect_numbers import UnreadableNumberError, normalized, number_of, stripped

try:
    import re2
except ImportError:  # no wheel for this system, as on Alpine
    re2 = None

Options = Mapping[str, JsonValue]
EDGES = string.whitespace + string.punctuation
LONGEST = 1_000_000
MOST_ANSWERS = 1000
_ANSWER = re.compile(r"ANSWER\s*:", re.IGNORECASE)
_LETTER = re.compile(r"ANSWER\s*:\s*([A-Z])(?:[^\w]|\n|$)", re.IGNORECASE)
_WORD = re.compile(r"ANSWER\s*:\s*(\S+?)(?=[.,;:!?]?\s*(?:\n|$))", re.IGNORECASE)
_CLASSES = re.compile(r"\\[wWdDsSbB]")
LINE = r"(?i)ANSWER\s*:\s*([^\n]+)\s*\z"


class _Match(Protocol):
    def groups(self) -> tuple[str | None, ...]: ...
    def group(self, number: int, /) -> str: ...


class _Pattern(Protocol):
    def search(self, text: str) -> _Match | None: ...


@frozen_type
class Scored:
    """An output with what a scorer compares it with."""

    text: str
    targets: tuple[str, ...]
    options: Options
    choices: int = 0
    multiple: bool = False


class ScorerAnswer(NamedTuple):
    """What a scorer finds: 0 to 1, and the answer that it took out of the output."""

    score: float
    answer: str


class _Row(NamedTuple):
    """A scorer, the options that its meaning here covers, and those without which it means nothing."""

    find: Callable[[Scored], ScorerAnswer | None]
    options: frozenset[str] = frozenset()
    needed: frozenset[str] = frozenset()


def carried_out(name: str, options: Options) -> bool:
    """Whether the scorer with these options can be carried out here."""
    row = SCORERS.get(name)
    given = {key for key, value in options.items() if value is not None}
    return row is not None and given <= row.options and row.needed <= given


def found(name: str, scored: Scored) -> ScorerAnswer | None:
    """What the scorer finds; None where this output cannot be scored here (a notation or an expression that is not read)."""
    if len(scored.text) > LONGEST:
        return None
    try:
        return SCORERS[name].find(scored)
    except UnreadableNumberError:
        return None


def _any(scored: Scored, matches: Callable[[str], bool], answer: str) -> ScorerAnswer:
    return ScorerAnswer(float(any(map(matches, scored.targets))), answer)


def _match(scored: Scored) -> ScorerAnswer:
    location, fold = str(scored.options.get("location") or "end"), scored.options.get("ignore_case") is not False
    numeric = bool(scored.options.get("numeric"))
    text = scored.text.strip()
    value = text.casefold() if fold else text

    def matches(target: str) -> bool:
        wanted = target.strip().casefold() if fold else target.strip()
        if numeric:
            wanted = stripped(wanted)
            if number_of(wanted) is not None:
                return _number_at(stripped(value), normalized(wanted), location)
        return _text_at(value.strip(EDGES), wanted.strip(EDGES), location)

    return _any(scored, matches, text)


def _text_at(value: str, wanted: str, location: str) -> bool:
    match location:
        case "begin":
            return value.startswith(wanted)
        case "end":
            return value.endswith(wanted)
        case "exact":
            return value == wanted
        case _:
            return wanted in value


def _number_at(value: str, wanted: str, location: str) -> bool:
    if location == "exact":
        return normalized(value, trim=False) == wanted
    words = re.split(r"\s+", value)
    if location == "end":
        words.reverse()
    numbers = (normalized(word) for word in words if number_of(word) is not None)
    return next(numbers, "") == wanted if location in {"begin", "end"} else wanted in numbers


def _includes(scored: Scored) -> ScorerAnswer:
    if scored.options.get("ignore_case") is False:
        return _any(scored, lambda target: target in scored.text, scored.text)
    text = scored.text.casefold()
    return _any(scored, lambda target: target.casefold() in text, scored.text)


def _pattern(scored: Scored) -> ScorerAnswer | None:
    fold = scored.options.get("ignore_case") is not False
    return _by_pattern(scored, str(scored.options["pattern"]), fold=fold, every=bool(scored.options.get("match_all")))


def _by_pattern(scored: Scored, pattern: str, *, fold: bool, every: bool) -> ScorerAnswer | None:
    """The groups that a search finds, compared with the targets; None where this engine may find others than Python's."""
    text = scored.text
    if ("$" in pattern and text.endswith("\n")) or ("\v" in text and "\\s" in pattern.lower()):
        return None
    if _CLASSES.search(pattern) and any(not sign.isascii() and (sign.isalnum() or sign.isspace()) for sign in text):
        return None
    if re2 is None:
        return None
    options = re2.Options()
    options.log_errors, options.case_sensitive = False, not fold
    try:
        match = cast("_Pattern", re2.compile(pattern, options)).search(text)
    except (cast("type[Exception]", re2.error), UnicodeEncodeError):
        return None
    if match is None:
        return ScorerAnswer(0.0, "")
    return _compared([group for group in match.groups() or (match.group(0),) if group is not None], scored, fold, every)


def _compared(groups: Sequence[str], scored: Scored, fold: bool, every: bool) -> ScorerAnswer:  # noqa: FBT001  its scorer's options
    wanted = [target.lower() for target in scored.targets] if fold else [*scored.targets]
    hits = [(group.lower() if fold else group) in wanted for group in groups]
    taken = next((group for group, hit in zip(groups, hits, strict=True) if hit), "")
    good = bool(hits) and all(hits) and "".join(scored.targets) != "" if every else taken != ""
    return ScorerAnswer(float(good), taken or (groups[0] if len(groups) == 1 else ""))


def _answer(scored: Scored) -> ScorerAnswer | None:
    kind = scored.options["pattern"]
    if kind == "line":
        return _by_pattern(scored, LINE, fold=True, every=False)
    search = {"letter": _LETTER, "word": _WORD}.get(str(kind))
    places = [match.start() for match in _ANSWER.finditer(scored.text)]
    if search is None or len(places) > MOST_ANSWERS:
        return None
    for place in places:
        match = search.match(scored.text, place)
        if match is not None and match.end() > places[-1]:
            return _compared([match[1]], scored, fold=True, every=False)
    return ScorerAnswer(0.0, "")


def _exact(scored: Scored) -> ScorerAnswer:
    answer = " ".join(_words(scored.text))
    return _any(scored, lambda target: (wanted := " ".join(_words(target))) != "" and wanted == answer, scored.text)


def _f1(scored: Scored) -> ScorerAnswer | None:
    stops = scored.options.get("stop_words")
    stop = [_token(word) for word in stops if isinstance(word, str)] if isinstance(stops, list) else []
    answer = Counter(" ".join(_words(scored.text, stop)).split())
    best = 0.0
    for target in scored.targets:
        wanted = Counter(" ".join(_words(target, stop)).split())
        both = (answer & wanted).total()
        if not wanted:
            continue
        precision = both / answer.total() if answer else 1.0
        recall = both / wanted.total()
        best = max(best, 2 * precision * recall / (precision + recall) if precision or recall else 0.0)
    return ScorerAnswer(round(best, 2), scored.text)


def _words(text: str, stop: Sequence[str] = ()) -> list[str]:
    tokens = (_token(token) for token in re.split(" |-", text))
    return [token for token in tokens if token.strip() and token not in stop]


def _token(token: str) -> str:
    folded = token.casefold()
    trimmed = folded.strip(EDGES)
    plain = (
        folded if _is_finite(folded)
        else trimmed if _is_finite(trimmed)
        else "".join(sign for sign in folded if sign not in string.punctuation)
    )  # fmt: skip
    number = str(float(plain)) if _is_finite(plain) else plain
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", number).split())


def _is_finite(text: str) -> bool:
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def _choice(scored: Scored) -> ScorerAnswer | None:
    wanted = positions(scored.targets, scored.choices)
    if wanted is None:
        return None
    picked = chosen(scored.text, scored.choices, multiple=scored.multiple)
    return ScorerAnswer(float(picked == wanted), ", ".join(map(str, picked)))


SCORERS: dict[str, _Row] = {
    "match": _Row(_match, frozenset({"location", "ignore_case", "numeric"})),
    "includes": _Row(_includes, frozenset({"ignore_case"})),
    "pattern": _Row(_pattern, frozenset({"pattern", "ignore_case", "match_all"}), frozenset({"pattern"})),
    "answer": _Row(_answer, frozenset({"pattern"}), frozenset({"pattern"})),
    "exact": _Row(_exact),
    "f1": _Row(_f1, frozenset({"stop_words"})),
    "choice": _Row(_choice),
}
"""By the name without that of its package. Every other scorer's recorded score is its verdict."""
