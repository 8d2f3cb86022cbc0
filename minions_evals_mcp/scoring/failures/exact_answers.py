"""Answers of which the very wording was asked for: the right one spelt in another way, and one off a closed list of labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.failed import FailedOutput, Signal
from minions_evals_mcp.scoring.failures.material import says_the_same
from minions_evals_mcp.scoring.failures.mentions import squeezed
from minions_evals_mcp.scoring.failures.texts import instructions, parsed, unfenced
from minions_evals_mcp.scoring.failures.wanted import flattened

NOT_LISTED = 0.7
LONGEST, FEW_WORDS, MOST_READ = 60, 12, 20_000
"""A longer entry is no label; so few words are nothing but the value."""
_PUNCTUATED = late(r"\w[;|:,\t/_=-]+\w")
_LIST_KEYS = frozenset(
    """
    labels label classes class categories category values allowed allowed_values enum choices intents statuses levels tags severities
    kategorien klassen werte erlaubt etiketten stufen étiquettes etiquettes catégories categories classes valeurs niveaux
    etiquetas categorías categorias clases valores niveles etichette categorie classi valori livelli
    """.split()  # noqa: SIM905  words
)
_CLOSED = late(
    r"\b(?:answer|reply|respond|say|antworte\w*|réponds?|répondez|responde|contesta|rispondi|responda|one of|either|exactly one"
    r"|verbatim|must be|only|choose|pick|labels?|classif\w+|categor\w+|allowed|permitted"
    r"|valid (?:values?|options?)"
    r"|eine[rsmn]?? (?:von|der|aus)|genau eine?\w*|entweder|wörtlich|nur|wähle\w*|einordn\w*|ordne|klassifizier\w*|kategori\w*"
    r"|erlaubt\w*|zulässig\w*"
    r"|l'une? d\w+|une? seule?|parmi|soit|uniquement|choisi\w+|étiquette\w*|autorisée?s?|catégori\w*"
    r"|una? de|sólo|solo|únicamente|elig\w+|etiqueta\w*|permitid\w+|categoría\w*|clasific\w+"
    r"|un[oa] tra|soltanto|scegli\w*|etichett\w+|ammess\w+|apenas|escolh\w+)\b",
    re.IGNORECASE,
)
_RUN = late(
    r"(?<![\w-])[\w-]++(?:\s*+[,|/]\s*+[\w-]++){0,60}"
    r"(?:,?\s++(?:or|oder|ou|o|u|and|und|et|y|e)\s++[\w-]++)?(?=\s*+(?:[.,;:)\]]|$))"
)
_PART = late(r"(?:(?<!\s)\s++)?[,|/]\s*|(?<!\s)\s++(?:or|oder|ou|o|u|and|und|et|y|e)\s+")


def wording_signals(failed: FailedOutput) -> Iterator[Signal]:
    """Yields what is wrong with the wording of a short answer."""
    yield from _said_otherwise(failed)
    yield from _off_the_list(failed)


def _off_the_list(failed: FailedOutput) -> Iterator[Signal]:
    """A short answer, or a value of a JSON answer, that is none of the list that the right one stands in."""
    for key, right in (failed.expected or failed.wanted_words).items():
        choices = _choices(failed.inputs, right) if isinstance(right, str) else ()
        choice = _answer(failed.text) if choices else ""
        answer = choice.get(key) if isinstance(choice, dict) else choice
        if not isinstance(answer, str) or not 0 < len(answer.split()) <= FEW_WORDS:
            continue
        if not any(_holds(answer, choice) for choice in choices):
            yield Signal("form", f"{answer}: none of {', '.join(sorted(choices))}", NOT_LISTED)


def _said_otherwise(failed: FailedOutput) -> Iterator[Signal]:
    """A short answer that is the one that was wanted, spelt in another way."""
    if failed.wants_json:
        return
    wanted = [
        value for value in (*(failed.expected or {}).values(), *failed.wanted_words.values()) if isinstance(value, str)
    ]
    if len(wanted) != 1:
        return
    if _PUNCTUATED.search(wanted[0]) and wanted[0] not in failed.text and _has_words(failed.text, _words(wanted[0])):
        yield Signal("form", f"{wanted[0]}: its words are there, with other signs between them", 0.8)
    if len(failed.text.split()) > FEW_WORDS:
        return
    exact = [check.value for check in flattened(failed.checks) if check.type == "equals"]
    if wanted == exact and wanted[0].casefold() in failed.text.casefold():
        yield Signal("form", f"{wanted[0]}: it was to be the whole answer", 0.8)
    elif wanted[0].strip() not in ("", failed.text.strip()) and says_the_same(wanted[0], failed.text):
        yield Signal("form", f"{wanted[0]}: it is there, spelt in another way", 0.8)


def _has_words(text: str, words: str) -> bool:
    """Returns whether the words stand in the text one after the other, whatever signs are between them."""
    folded = text.casefold()  # a word that is nowhere in it saves to take the text apart
    return all(word in folded for word in words.split()) and f" {words} " in f" {_words(text)} "


def _words(text: str) -> str:
    return squeezed(text.replace("_", " "))


def _answer(text: str) -> Json | str:
    if not unfenced(text).startswith("{"):
        return text
    with suppress(ValueError):
        value = parsed(text)
        if isinstance(value, dict):
            return value
    return text


def _choices(inputs: Json, right: str) -> frozenset[str]:
    """The entries of the list in which the right answer stands, where the task calls the list closed."""
    if len(right) > LONGEST:
        return frozenset()
    for key, value in inputs.items():
        entries = _entries(value)
        if right in entries and len(entries) > 1 and (key.casefold() in _LIST_KEYS or _is_closed(inputs)):
            return entries
    tasks = (task for task in instructions(inputs) if right in task and _CLOSED.search(task))
    runs = (frozenset(_PART.split(match[0])) for task in tasks for match in _RUN.finditer(task))
    return next((run for run in runs if right in run and len(run) > 1), frozenset[str]())


def _is_closed(inputs: Json) -> bool:
    return any(_CLOSED.search(task) for task in instructions(inputs))


def _entries(value: JsonValue) -> frozenset[str]:
    """The entries of a list of short texts."""
    if not isinstance(value, list):
        return frozenset()
    texts = frozenset(entry for entry in value if isinstance(entry, str) and len(entry) <= LONGEST)
    return texts if len(texts) == len(value) else frozenset()


def _holds(answer: str, choice: str) -> bool:
    return f" {squeezed(choice)} " in f" {squeezed(answer)} "
