"""Values of the wrong thing: the id of another customer, or one that a later result replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.log.finding import Finding
from minions_evals_mcp.scoring.failures.log.kinds import folded, key_words, kind_of, shape
from minions_evals_mcp.scoring.failures.log.reading import Log
from minions_evals_mcp.scoring.failures.log.records import Entity
from minions_evals_mcp.scoring.failures.mentions import ORDINARY
from minions_evals_mcp.scoring.failures.texts import cut, leaves

OTHER, REPLACED, RENEWED = 0.85, 0.85, 0.75
_NEWER = late(
    r"(?:new|current|latest|replac\w*|supersed\w*|merged|moved|successor|updated|renamed|forward\w*|actual|neu\w*|aktuell\w*|ersetzt\w*"
    r"|nouve\w+|actuel\w*|remplac\w*|nuev\w+|reemplaz\w*|nuov\w+|sostituit\w*|nov[oa]|substitu\w*)",
    re.IGNORECASE,
)
_LINK = late(
    r"next|prev|parent|child|linked|related|successor|continu|belongs|depends|blocked|refers|points|successive|suivant|nächst|siguiente|prossim|seguinte",
    re.IGNORECASE,
)
"""Keys of a way from one record to another."""
_RENEWS = late(
    r"refresh|renew|rotate|reissue|regenerate|update|rebook|change|move|extend|replace|create|latest|current|save|write|commit|put|edit|patch|set|erneuer|neu|renouvel",
    re.IGNORECASE,
)


def swapped_entities(log: Log) -> Iterator[Finding]:
    """Arguments taken from a record that the input does not speak of, where it speaks of its neighbour."""
    for place, step in enumerate(log.steps):
        entities = log.entities_before(place)
        if len(entities) < 2:
            continue
        for name, leaf in leaves(step.arguments):
            if kind_of(leaf) not in {"code", "number", "address", "name"} or _stands_in(folded(leaf), log.asked_text):
                continue
            finding = _swapped(log, place, name, folded(leaf), entities)
            if finding is not None:
                yield finding


def stale_values(log: Log) -> Iterator[Finding]:
    """Values that an earlier result says were replaced, or that the same tool has given anew since."""
    for place, step in enumerate(log.steps):
        for name, leaf in leaves(step.arguments):
            if kind_of(leaf) not in {"code", "number", "address"}:
                continue
            finding = _replaced(log, place, name, str(leaf)) or _renewed(log, place, name, str(leaf))
            if finding is not None:
                yield finding


def _swapped(log: Log, place: int, name: str, text: str, entities: Sequence[Entity]) -> Finding | None:
    own = [entity for entity in entities if entity.holds(text)]
    if not own or any(_links(entity, text) for entity in own):
        return None
    keys = {key for entity in own for key, value in entity.fields.items() if folded(value) == text}
    rivals = [entity for entity in entities if not entity.holds(text) and keys & entity.fields.keys()]
    if not rivals or any(_spoken_of(log, entity, rivals) for entity in own):
        return None
    named = [(entity, word) for entity in rivals if (word := _spoken_of(log, entity, own))]
    if len({next(folded(entity.fields[key]) for key in keys if key in entity.fields) for entity, _ in named}) != 1:
        return None
    meant, word = named[0]
    whose = _title(own[0]) or "another record"
    right = next(str(meant.fields[key]) for key in keys if key in meant.fields)
    sentence = (
        f"{log.quoted(place)} was called with {name} = {cut(text)!r} of {whose} ({log.quoted(own[0].place)}): the input speaks"
        f" of {cut(word)!r}, whose value is {cut(right)!r}"
    )
    return Finding("entity", place, sentence, OTHER)


def _links(entity: Entity, text: str) -> bool:
    """Returns whether the record gives the value as a way on, to another record: following it is no slip."""
    return any(_LINK.search(key) and folded(value) == text for key, value in entity.fields.items())


def _spoken_of(log: Log, entity: Entity, others: Sequence[Entity]) -> str | None:
    """A value of the record that the input names, and none of the others has."""
    for value in entity.fields.values():
        if isinstance(value, bool) or value is None:
            continue
        text = folded(value)
        if any(other.holds(text) for other in others):
            continue
        if len(text) > 1 and _stands_in(text, log.asked_text):
            return str(value)
        for word in re.findall(r"[^\W\d_]{4,}", text) if isinstance(value, str) else ():
            rest = " ".join(folded(list(other.fields.values())) for other in others)
            if word not in ORDINARY and _stands_in(word, log.asked_text) and word not in rest:
                return str(value)
    return None


def _title(entity: Entity) -> str | None:
    """Returns what a reader would call the record."""
    for value in entity.fields.values():
        if isinstance(value, str) and kind_of(value) == "name":
            return repr(cut(value, 60))
    return None


def _replaced(log: Log, place: int, name: str, text: str) -> Finding | None:
    """The value was replaced: a record that holds it has a newer one beside it."""
    for entity in log.entities_before(place):
        if not entity.holds(folded(text)):
            continue
        for key, value in entity.fields.items():
            newer = _NEWER.search(key) and isinstance(value, str | int) and not isinstance(value, bool)
            if newer and folded(value) != folded(text) and shape(str(value)) == shape(text) and key_words(key):
                sentence = (
                    f"{log.quoted(place)} was called with {name} = {cut(text)!r}, though {log.quoted(entity.place)} gave"
                    f" {key} = {cut(str(value))!r}"
                )
                return Finding("stale", place, sentence, REPLACED)
    return None


def _renewed(log: Log, place: int, name: str, text: str) -> Finding | None:
    """The value is the older of two that single-valued results gave under the same key."""
    given = [
        (entity.place, key, str(value))
        for entity in log.entities_before(place)
        for key, value in entity.fields.items()
        if isinstance(value, str | int) and not isinstance(value, bool)
    ]
    own = [(at, key) for at, key, value in given if folded(value) == folded(text)]
    if not own or _stands_in(folded(text), log.asked_text):
        return None
    last_at, key = own[-1]
    later = [(at, value) for at, other, value in given if other == key and at > last_at and shape(value) == shape(text)]
    if not later or folded(later[-1][1]) == folded(text) or len(later) > 1:
        return None
    at, value = later[-1]
    if log.steps[at].tool != log.steps[last_at].tool and not _RENEWS.search(log.steps[at].tool):
        return None
    if log.steps[at].tool == log.steps[last_at].tool and log.steps[at].arguments != log.steps[last_at].arguments:
        return None
    sentence = f"{log.quoted(place)} was called with {name} = {cut(text)!r}, though {log.quoted(at)} had given {key} = {cut(value)!r} since"
    return Finding("stale", place, sentence, RENEWED)


def _stands_in(text: str, source: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(text)}(?!\w)", source) is not None
