"""Answers that are one of a few: the others, as the question or the checks themselves name them, are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.scoring.audit.lexicon import DAYS, MONTHS
from minions_evals_mcp.scoring.audit.negation import ANSWERS
from minions_evals_mcp.scoring.audit.words import normal

LONGEST = 40
MOST = 12
MOST_ASKED = 5_000
_CLAUSE = re.compile(r"[;:.?!“”\"\n]")
_OR = re.compile(r"\s(?:or|oder|ou|o|или)\s")
_PATTERN = re.compile(r"\^?\((?:\?:)?(?P<each>[\w %.-]+(?:\|[\w %.-]+)+)\)\$?")
_COHORTS = tuple(frozenset(words) for words in (*DAYS, *MONTHS))


def other_choices(answer: str, question: str, assertions: Iterable[Assertion]) -> Iterator[tuple[str, bool]]:
    """Yields the other choices than the answer, and whether nobody would call them right, too.

    That is known of yes and no, of those between which the question lets one choose, and of days and months.
    """
    mine = normal(answer)
    if not mine or len(answer) > LONGEST:
        return
    if mine in ANSWERS:
        yield ANSWERS[mine].capitalize() if answer[:1].isupper() else ANSWERS[mine], True
    offered = [*_offered(question)]
    if mine in {*map(normal, offered)}:
        yield from ((other, True) for other in offered if normal(other) != mine)
    for named in _named(assertions):
        if mine in {*map(normal, named)}:
            asked = {normal(word) for word in re.findall(r"[\w-]+", question)}
            apart = {*map(normal, named)} <= asked or any({*map(normal, named)} <= cohort for cohort in _COHORTS)
            yield from ((other, apart) for other in named if normal(other) != mine)


def _offered(question: str) -> Iterator[str]:
    """The words of each list in the question that ends with "or": single words between commas, and the word before them."""
    for clause in _CLAUSE.split(question[:MOST_ASKED]):
        for before, after in pairwise(_OR.split(clause)):
            last = after.replace(",", " ").split()[:1]
            for part in reversed(before.rstrip(" ,").split(",")):
                words_seen = part.split()
                yield from (*words_seen[-1:], *last)
                last = []
                if len(words_seen) != 1:
                    break


def _named(assertions: Iterable[Assertion]) -> Iterator[Sequence[str]]:
    """The texts of each check that takes one of several."""
    for assertion in assertions:
        value = assertion.value
        if assertion.type in {"contains-any", "icontains-any"} and isinstance(value, list):
            texts = [item for item in value if isinstance(item, str)]
        elif assertion.type == "regex" and isinstance(value, str) and (match := _PATTERN.fullmatch(value)):
            texts = match["each"].split("|")
        else:
            continue
        if 2 <= len(texts) <= MOST:
            yield texts


def other_of_enum(
    output: JsonValue, assertions: Iterable[Assertion]
) -> Iterator[tuple[tuple[str | int, ...], JsonValue]]:
    """Yields each place of a JSON answer whose schema takes one of a few values, and another of them."""
    for assertion in assertions:
        if assertion.type in {"is-json", "contains-json"}:
            yield from _of_schema(output, assertion.value, ())


def _of_schema(
    value: JsonValue, schema: JsonValue, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], JsonValue]]:
    if not isinstance(schema, dict):
        return
    choices = schema.get("enum")
    if isinstance(choices, list) and value in choices:
        yield from ((path, other) for other in choices[:MOST] if other != value)
    properties, items = schema.get("properties"), schema.get("items")
    if isinstance(value, dict) and isinstance(properties, dict):
        for name, inner in value.items():
            yield from _of_schema(inner, properties.get(name), (*path, name))
    if isinstance(value, list):
        for number, inner in enumerate(value[:MOST]):
            yield from _of_schema(inner, items, (*path, number))
