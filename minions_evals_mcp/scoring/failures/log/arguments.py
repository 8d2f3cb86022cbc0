"""Arguments against the input and the results before them: what was asked of a tool that nobody had asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from functools import cache, lru_cache, partial

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.dates import WEEKDAYS
from minions_evals_mcp.scoring.failures.log.exonyms import other_names
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.kinds import Kind, Known, folded, key_words, kind_of, shape
from minions_evals_mcp.scoring.failures.log.reading import INPUT, Log
from minions_evals_mcp.scoring.failures.log.units import is_converted
from minions_evals_mcp.scoring.failures.material import ValueMaterial, read
from minions_evals_mcp.scoring.failures.texts import cut, leaves

Heard = Callable[[], ValueMaterial | None]
"""Reads what was heard before a step, once and only if an argument needs it; None where there is too much."""
ONLY, LABELLED, NEAREST, SAME_KEY = 0.8, 0.75, 0.65, 0.85
ALIKE, SAME_NAME = 0.6, 0.8
"""How alike two values are that may be meant for each other (0 to 1), and two names of which one is a slip."""
MOST_ARGUMENTS = 60
_PAGING = late(
    r"(?:page|limit|offset|size|top|max|min|depth|count|retr|timeout|temperature|seed|version|batch|width|height|radius|precision"
    r"|decimals|seite|start|cursor|skip|take|first|last|per|number_of_results|k|n|threshold|level|step|index|delay|ttl|lang|locale)",
    re.IGNORECASE,
)
_RECKONS = late(r"calc|math|multipl|divid|add\b|sum\b|subtract|percent|comput|eval|rechn|convert", re.IGNORECASE)
_FREE_TEXT = late(
    r"q|query|search|text|title|subject|message|note|topic|hint|prompt|content|body|reason|comment|description|label|tag|format|status"
    r"|state|type|category|kind|role|priority|tone|mode|sort|order_by|field|column|table|schema|model|method|action|anfrage|suche|frage",
    re.IGNORECASE,
)
"""Arguments in which an agent writes words of its own."""
_PLACEHOLDER = late(
    r"<[^<>]{1,60}>|\{\{?[^{}]{1,60}\}\}?|\[(?:your|insert)[^\]]{1,60}\]|your[_ -][a-z_ -]{1,40}"
    r"|(?:todo|tbd|fixme)\b.{0,60}|x{3,}|string|example"
    r"|placeholder|foo|bar|example_?(?:id|name|value)|[\w.]{1,40}@example\.(?:com|org)|insert[_ ].{1,40}",
    re.IGNORECASE,
)
_RELATIVE = late(
    r"\b(?:today|tomorrow|yesterday|tonight|next|last|this|in \w+ (?:days?|weeks?|hours?)|heute|morgen|gestern|nächst\w+|letzt\w+"
    r"|diese\w*|übermorgen|aujourd'hui|demain|hier|prochaine?|dernière?|hoy|mañana|ayer|próxim\w+|pasad\w+|oggi|domani|ieri"
    r"|prossim\w+|scors\w+|hoje|amanhã|ontem)\b",
    re.IGNORECASE,
)
_FROM = frozenset(
    ("from", "source", "origin", "sender", "von", "de", "depart", "departure", "start", "debit", "origen", "da", "src")
)
_TO = frozenset(
    (
        "to",
        "target",
        "destination",
        "recipient",
        "nach",
        "arrival",
        "end",
        "credit",
        "dest",
        "destino",
        "dst",
        "receiver",
        "zu",
        "an",
    )
)
_ROLES = (
    (_FROM, r"(?:from|von|aus|de|depuis|desde|da|dal)"),
    (_TO, r"(?:to|nach|zu|an|auf|à|vers|a|para|al|até|into)"),
)


def wrong_arguments(log: Log) -> Iterator[Finding]:
    """Arguments that differ from what the input and the earlier results say."""
    for place, step in enumerate(log.steps):
        heard = cache(partial(log.heard_before, place))
        for count, (name, leaf) in enumerate(leaves(step.arguments)):
            if count >= MOST_ARGUMENTS:
                break
            kind = kind_of(leaf)
            if kind in (None, "word"):
                continue
            finding = _checked(log, place, name, leaf, heard)
            if finding is not None:
                yield finding


def unwanted_arguments(log: Log) -> Iterator[Finding]:
    """Arguments that differ from those that the expected trajectory gives, where no call of the tool has them."""
    for tool, wanted in log.failed.wanted_arguments:
        calls = [(place, step) for place, step in enumerate(log.steps) if step.tool.casefold() == tool.casefold()]
        if not calls or any(not _differing(step.arguments, wanted) for _, step in calls):
            continue
        place, step = calls[-1]
        name, meant = _differing(step.arguments, wanted)[0]
        given = cut(str(step.arguments.get(name)))
        yield Finding(
            "argument",
            place,
            f"{log.quoted(place)} was called with {name} = {given!r}: {cut(str(meant))!r} was expected",
            SAME_KEY,
        )


def _differing(given: Json, wanted: Json) -> list[tuple[str, JsonValue]]:
    return [
        (name, value)
        for name, value in wanted.items()
        if not isinstance(value, dict | list) and given.get(name) != value
    ]


def placeholders(log: Log) -> Iterator[Finding]:
    """Arguments that were never filled in."""
    given = {leaf for _, leaf in leaves(log.failed.inputs)}
    for place, step in enumerate(log.steps):
        for name, leaf in leaves(step.arguments):
            if isinstance(leaf, str) and leaf not in given and _PLACEHOLDER.fullmatch(leaf.strip()):
                sentence = f"{log.quoted(place)} was called with a placeholder: {name} = {cut(leaf)!r}"
                yield Finding("placeholder", place, sentence, 0.85)


def swapped_roles(log: Log) -> Iterator[Finding]:
    """A source given as the target, or the other way round, where the input says which is which."""
    for place, step in enumerate(log.steps):
        ends = {
            role: (name, leaf)
            for name, leaf in leaves(step.arguments)
            for role in _role(name)
            if isinstance(leaf, str | int)
        }
        if len(ends) != 2:
            continue
        (from_name, source), (_, target) = ends[0], ends[1]
        follows = [_follows(log.asked_text, _ROLES[role][1], folded(leaf)) for role, (_, leaf) in ends.items()]
        crossed = _follows(log.asked_text, _ROLES[0][1], folded(target)) and _follows(
            log.asked_text, _ROLES[1][1], folded(source)
        )
        if crossed and not all(follows):
            words = f"{log.quoted(place)} was called with {from_name} = {cut(str(source))!r}: the input has it the other way round"
            yield Finding("argument", place, words, SAME_KEY)


def _role(name: str) -> list[int]:
    parts = set(re.split(r"[_\W]+|(?<=[a-z])(?=[A-Z])", name.casefold()))
    return [number for number, (names, _) in enumerate(_ROLES) if parts & names]


def _follows(text: str, preposition: str, value: str) -> bool:
    return re.search(rf"\b{preposition} (?:\w+ ){{0,2}}{re.escape(value)}(?!\w)", text) is not None


def _checked(log: Log, place: int, name: str, leaf: JsonValue, heard: Heard) -> Finding | None:
    """Returns what is wrong with one argument."""
    kind = kind_of(leaf)
    text = str(leaf).strip()
    assert kind is not None
    if kind == "number" and (_PAGING.match(name) or _is_round_choice(leaf) or _counts(log.steps[place].tool, name)):
        return None
    if _is_known(log, place, text, kind, heard):
        return None
    return _differs(log, place, name, text, kind)


def _counts(tool: str, name: str) -> bool:
    """Returns whether the argument is a number to reckon with: nobody needs to have said it."""
    return len(name) < 3 or _RECKONS.search(tool) is not None


def _is_round_choice(leaf: JsonValue) -> bool:
    return isinstance(leaf, int | float) and leaf in (0, 1, -1)


def _is_known(log: Log, place: int, text: str, kind: Kind, heard: Heard) -> bool:
    """Returns whether the value stands in the input or in a result before the step, in any spelling."""
    folded_text = folded(text)
    if log.first_places.whole_before(folded_text, place):
        return True
    if kind in {"number", "day", "time"}:
        said = heard()
        return said is None or _is_said(log, place, text, kind, said)
    if kind == "code":
        return log.bare_said.part_before(re.sub(r"\W", "", folded_text), place)
    return kind == "name" and _is_named(log, place, folded_text)


def _is_said(log: Log, place: int, text: str, kind: Kind, said: ValueMaterial) -> bool:
    """Whether the number, day or time was said, or follows from what was said."""
    if kind == "number":
        stated = all(said.numbers.gives(quantity) for quantity in read(text).quantities)
        return stated or is_converted(float(text.replace(",", ".")), log.converted_before(place))
    if kind == "day":
        relative = _RELATIVE.search(log.asked_text) is not None or any(day in log.asked_text for day in WEEKDAYS)
        return relative or all(said.has_day(day) for day in read(text).days)
    return all(said.has_time(clock) for clock in read(text).clocks)


def _is_named(log: Log, place: int, name: str) -> bool:
    """Returns whether the name stands there in another language, or the beginning of each of its words does."""
    if any(log.first_places.whole_before(other, place) for other in other_names(name)):
        return True
    return all(log.first_places.part_before(word[:4], place) for word in name.split())


def _differs(log: Log, place: int, name: str, text: str, kind: Kind) -> Finding | None:
    """The value that was meant: the only one of its kind, the one with the same name, or the one most like it."""
    like = log.known_before(place, kind, shape(text) if kind in {"code", "number"} else kind)
    words = key_words(name)
    labelled = _distinct([fact for fact in like if words & (fact.near | key_words(fact.key))])
    from_inputs = _distinct([fact for fact in like if fact.place == INPUT])
    every = _distinct(like)
    if kind == "name":
        return _other_name(log, place, name, text, from_inputs, every)
    for confidence, among in ((SAME_KEY, labelled), (ONLY, from_inputs), (LABELLED, every)):
        if len(among) == 1:
            return _finding(log, place, name, text, among[0], confidence)
    unused = _unused(log, from_inputs)
    if len(unused) == 1 and kind in {"code", "day", "time", "address"}:
        return _finding(log, place, name, text, unused[0], NEAREST)
    nearest = max(every, key=lambda fact: _alike(fact.text, text), default=None)
    if nearest is not None and kind in {"code", "address"} and _alike(nearest.text, text) >= ALIKE:
        return _finding(log, place, name, text, nearest, NEAREST)
    return None


def _other_name(
    log: Log, place: int, name: str, text: str, facts_asked: list[Known], every: list[Known]
) -> Finding | None:
    """The name that was meant: one that is like it, or the only one of the input that no argument has."""
    nearest = max(every, key=lambda fact: _alike(fact.text, text), default=None)
    if nearest is not None and _alike(nearest.text, text) >= ALIKE:
        # Between the two limits stand the names that one language writes otherwise than another (München, Munich).
        return _finding(log, place, name, text, nearest, LABELLED) if _alike(nearest.text, text) >= SAME_NAME else None
    if _FREE_TEXT.fullmatch(name) and " " not in text:
        return None
    made_alike = [
        fact for fact in facts_asked if (" " in fact.text) == (" " in text) and fact.text.isupper() == text.isupper()
    ]
    unused = _unused(log, made_alike)
    return _finding(log, place, name, text, unused[0], NEAREST) if len(unused) == 1 else None


def _unused(log: Log, known: list[Known]) -> list[Known]:
    """Those that no argument of the log has."""
    days = [fact for fact in known if fact.kind == "day"]
    taken = {day.text for day in days if all(log.used_material.has_day(day) for day in read(day.text).days)}
    return [fact for fact in known if folded(fact.text) not in log.used_text and fact.text not in taken]


def _finding(log: Log, place: int, name: str, text: str, meant: Known, confidence: float) -> Finding:
    where = "the input says" if meant.place == INPUT else f"{log.quoted(meant.place)} gave"
    sentence = f"{log.quoted(place)} was called with {name} = {cut(text)!r}, which nothing before it says: {where} {cut(meant.text)!r}"
    return Finding("argument", place, sentence, confidence)


def _distinct(known: list[Known]) -> list[Known]:
    """One for each text, the first of them."""
    first: dict[str, Known] = {}
    for fact in known:
        first.setdefault(folded(fact.text), fact)
    return list(first.values())


def _alike(first: str, other: str) -> float:
    return _ratio(first.casefold(), other.casefold())


@lru_cache(maxsize=4_096)
def _ratio(first: str, other: str) -> float:
    matcher = SequenceMatcher(None, first, other, autojunk=False)
    # An upper bound is cheap: below it nobody asks how alike the two are exactly.
    return matcher.ratio() if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE else 0.0
