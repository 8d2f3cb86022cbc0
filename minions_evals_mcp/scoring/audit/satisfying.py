"""Texts made to satisfy checks: from their keywords, and as short as can be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import SET, Assertion
from minions_evals_mcp.scoring.assertions.kinds.similar import SIMILAR
from minions_evals_mcp.scoring.audit.rules import CODE, Rules, flat
from minions_evals_mcp.scoring.audit.samples import smallest, text_found_by
from minions_evals_mcp.scoring.audit.words import words
from minions_evals_mcp.scoring.values import js_text

REFUSAL = "I'm sorry, but I can't help with that."
FILLER = "ok"
MOST_WORDS = 3_000
EDITS = 5
"""The edits that `levenshtein` lets pass without a threshold."""
_STRING = re.compile(r"'((?:[^'\\\n]|\\.){1,200})'|\"((?:[^\"\\\n]|\\.){1,200})\"|`([^`$]{1,200})`")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
_HOLDING = frozenset({"contains", "icontains", "starts-with"})
_ALL, _ANY = frozenset({"contains-all", "icontains-all"}), frozenset({"contains-any", "icontains-any"})
_FORMS = {"is-xml": "<a/>", "contains-xml": "<a/>", "is-html": "<p>a</p>", "contains-html": "<p>a</p>",
          "is-sql": "SELECT 1", "contains-sql": "```sql\nSELECT 1\n```", "is-refusal": REFUSAL}  # fmt: skip


def texts_in(value: JsonValue) -> list[str]:
    """The texts that a check's value lists; one text may list several behind commas."""
    if isinstance(value, list):
        return [js_text(item) if not isinstance(item, dict | list) else json.dumps(item) for item in value]
    return [] if value is None or isinstance(value, dict) else [js_text(value)]


def listed(value: JsonValue) -> list[str]:
    """The same where a single text lists several."""
    texts = texts_in(value)
    return [part.strip() for part in texts[0].split(",")] if len(texts) == 1 and isinstance(value, str) else texts


def keywords(rules: Rules) -> list[str]:
    """Returns what the checks look for, each word or phrase once, in the order of the checks."""
    words_wanted: list[str] = []
    for assertion in rules.assertions():
        if not assertion.negated and assertion.weight > 0:
            words_wanted += [word for word in _words_of(assertion) if word]
    return list(dict.fromkeys(words_wanted))


def _words_of(assertion: Assertion) -> Iterator[str]:
    if assertion.type in _HOLDING:
        yield from texts_in(assertion.value)
    elif assertion.type in _ALL | _ANY:
        yield from listed(assertion.value)
    elif assertion.type == "regex":
        yield text_found_by(str(assertion.value)) or ""
    elif assertion.type in CODE:
        yield from literals(str(assertion.value))
    elif assertion.type in {"is-json", "contains-json"}:
        yield _json_for(assertion.value)
    elif assertion.type in _FORMS and assertion.type != "is-refusal":
        yield _form(assertion)


def literals(code: str) -> Iterator[str]:
    """The texts and numbers that stand in a piece of code."""
    for match in _STRING.finditer(code):
        text = next(part for part in match.groups() if part is not None)
        if text not in {"output", "vars", "context"}:
            yield text
    for match in _NUMBER.finditer(_STRING.sub("", code)):
        yield match[0]


def _json_for(schema: JsonValue) -> str:
    return json.dumps(smallest(schema) if isinstance(schema, dict) else {}, ensure_ascii=False)


def _form(assertion: Assertion) -> str:
    """The least markup of that form, with the elements that are asked for."""
    names = listed(assertion.value) if assertion.base_type in {"is-xml", "contains-xml"} else []
    if isinstance(assertion.value, dict) and assertion.base_type in {"is-xml", "contains-xml"}:
        elements = assertion.value.get("requiredElements", [])
        names = [str(name) for name in elements] if isinstance(elements, list) else []
    if not names:
        return _FORMS[assertion.base_type]
    return _nested([name.split(".") for name in names])


def _nested(paths: Sequence[Sequence[str]]) -> str:
    tree: dict[str, list[Sequence[str]]] = {}
    for path in paths:
        tree.setdefault(path[0], []).append(path[1:])
    inside = "".join(f"<{name}>{_nested([rest for rest in rests if rest])}</{name}>" for name, rests in tree.items())
    return (
        inside if len(tree) < 2 or not paths else f"<a>{inside}</a>" if any(len(path) > 1 for path in paths) else inside
    )


def satisfying(rules: Rules) -> list[str]:
    """A few texts that should satisfy all positive checks at once, the shortest first; whether they do is for the checks to say."""
    positive = [assertion for assertion in rules.assertions() if not assertion.negated and assertion.weight > 0]
    wanted = _wanted(positive)
    texts = [_fitted(wanted, positive, between) for between in (" ", "\n")]
    texts += [_fitted([*wanted[:0], *(text for text in wanted)][::-1], positive, " ")] if len(wanted) > 1 else []
    texts += [cut for assertion in positive if (cut := _cut_short(assertion))]
    return list(dict.fromkeys(texts))


def _cut_short(assertion: Assertion) -> str:
    """Returns so little of a text as its limit of edits lets pass; empty where that is half of it or more."""
    if assertion.type != "levenshtein" or not isinstance(assertion.value, str):
        return ""
    edits = EDITS if assertion.threshold is None else int(assertion.threshold)
    kept = max(0, len(assertion.value) - edits)
    return assertion.value[:kept].rstrip() if 2 * kept < len(assertion.value) else ""


def satisfying_one(assertion: Assertion) -> list[str]:
    """The same for one check alone."""
    if assertion.base_type == SET:
        return [text for inner in flat([assertion]) for text in satisfying_one(inner)][:6]
    if assertion.negated:
        return []
    made = _fitted(_wanted([assertion]), [assertion], " ")
    more = list(literals(str(assertion.value))) if assertion.type in CODE else []
    return list(dict.fromkeys([made, *more[:4]]))


def _wanted(assertions: Sequence[Assertion]) -> list[str]:
    """The pieces that a text must have: what it starts with first, none that stands within another."""
    pieces: list[str] = []
    for assertion in assertions:
        if assertion.type == "starts-with":
            pieces = [*texts_in(assertion.value)[:1], *pieces]
        elif assertion.type in _ANY:
            choices = [text for text in listed(assertion.value) if text]
            if not any(choice in piece for choice in choices for piece in pieces):
                pieces += sorted(choices, key=len)[:1]
        elif assertion.type == "is-refusal":
            pieces.append(REFUSAL)
        elif assertion.type in {"equals", *SIMILAR, "levenshtein", "rouge-n", "bleu", "gleu"}:
            pieces += [value if isinstance(value, str) else json.dumps(value) for value in _values(assertion)[:1]]
        else:
            pieces += list(_words_of(assertion))
    pieces = [piece for piece in dict.fromkeys(pieces) if piece]
    return [piece for piece in pieces if not any(piece != other and piece in other for other in pieces)]


def _values(assertion: Assertion) -> list[JsonValue]:
    return assertion.value if isinstance(assertion.value, list) and assertion.type != "equals" else [assertion.value]


def _fitted(pieces: Sequence[str], assertions: Sequence[Assertion], between: str) -> str:
    text = between.join(pieces)
    least = max((_least(assertion) for assertion in assertions if assertion.type == "word-count"), default=0)
    lacking = least - len(text.split())
    if 0 < lacking <= MOST_WORDS:
        text = between.join(filter(None, (text, " ".join([FILLER] * lacking))))
    return text


def _least(assertion: Assertion) -> int:
    value = assertion.value
    least = value.get("min", 0) if isinstance(value, dict) else value
    return (
        int(least)
        if isinstance(least, int | float)
        else int(least)
        if isinstance(least, str) and least.isdigit()
        else 0
    )


def beginnings(text: str) -> list[str]:
    """Parts of a reference that say less than half of it: its beginning, its longest word."""
    parts = text.split()
    if len(parts) < 3:
        return []
    half = " ".join(parts[: max(1, (len(parts) - 1) // 2)])
    longest = max(words(text), key=len, default="")
    return list(dict.fromkeys([longest, half]))
