"""Mutants: the reference with one thing in it changed so that it is wrong, which a good check does not let pass."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.domain.outputs import output_text
from minions_evals_mcp.scoring.audit.choices import other_choices, other_of_enum
from minions_evals_mcp.scoring.audit.facts import Fact, facts
from minions_evals_mcp.scoring.audit.negation import contraries
from minions_evals_mcp.scoring.audit.references import Reference
from minions_evals_mcp.scoring.audit.words import holds, normal

MutantKind = Literal["negation", "number", "date", "name", "step", "argument"]
MUTANT_KINDS: tuple[MutantKind, ...] = ("negation", "number", "date", "name", "step", "argument")
MOST_OF_A_KIND = 4
MOST_LEAVES = 40


@dataclass(frozen=True, slots=True)
class Mutant:
    """A wrong answer made from the reference. `look`: it may still be right, so it counts neither for nor against the checks.

    `listed`: it is wrong even where a check names it among the texts that it takes.
    """

    kind: MutantKind
    output: Json
    tool_calls: tuple[ToolCall, ...] | None
    told: str
    look: bool = False
    listed: bool = False


def mutants(
    reference: Reference, *, question: str, on_text: bool, on_log: bool, assertions: Sequence[Assertion] = ()
) -> list[Mutant]:
    """The mutants of a reference, at most four of a kind.

    `question`: what was asked; a fact that the answer only repeats from it is changed where there is no other.
    `on_text`, `on_log`: whether any check looks at the text, or at the log. `assertions` are those that may name alternatives.
    """
    made = [
        *(_of_choices(reference, question, assertions) if on_text else ()),
        *(_of_output(reference, question) if on_text else ()),
        *(_of_log(reference, alone=not on_text) if on_log else ()),
    ]
    wrong_answers: list[Mutant] = []
    seen = {_sameness(reference.output, reference.tool_calls)}
    right = {*map(normal, reference.accepted)}
    given = {normal(output_text(paraphrase)) for paraphrase in reference.paraphrases}
    for mutant in made:
        same = _sameness(mutant.output, mutant.tool_calls)
        many = sum(other.kind == mutant.kind for other in wrong_answers) >= MOST_OF_A_KIND
        is_right = mutant.tool_calls == reference.tool_calls and normal(output_text(mutant.output)) in (
            given if mutant.listed else right
        )
        if not many and not is_right and same not in seen:
            seen.add(same)
            wrong_answers.append(mutant)
    return wrong_answers


def _sameness(output: Json, calls: tuple[ToolCall, ...] | None) -> str:
    log = "" if calls is None else json.dumps([call.model_dump(mode="json") for call in calls], sort_keys=True)
    return f"{json.dumps(output, sort_keys=True, ensure_ascii=False)}\0{log}"


def _of_output(reference: Reference, question: str) -> Iterator[Mutant]:
    for key, value in reference.output.items():
        for kind, changed, detail, sure in _of_value(value, question):
            yield Mutant(kind, {**reference.output, key: changed}, reference.tool_calls, detail, look=not sure)


def _of_choices(reference: Reference, question: str, assertions: Sequence[Assertion]) -> Iterator[Mutant]:
    """The other answers that the question or the checks name beside the right one."""
    for key, value in reference.output.items():
        if not isinstance(value, str):
            continue
        for other, sure in other_choices(value, question, assertions):
            changed = {**reference.output, key: other}
            yield Mutant("name", changed, reference.tool_calls, f"{value} → {other}", look=not sure, listed=sure)
        parsed = structured(value)
        for path, leaf in () if parsed is None else other_of_enum(parsed, assertions):
            changed = {**reference.output, key: json.dumps(_with(parsed, path, leaf), ensure_ascii=False)}
            yield Mutant("name", changed, reference.tool_calls, f"{_path_text(path)} → {leaf!r}")


_Change = tuple[MutantKind, JsonValue, str, bool]


def _of_value(value: JsonValue, question: str) -> Iterator[_Change]:
    if not isinstance(value, str):
        yield from _of_structure(value)
        return
    parsed = structured(value)
    if parsed is not None:
        for kind, changed, detail, sure in _of_structure(parsed):
            yield kind, json.dumps(changed, ensure_ascii=False), detail, sure
        return
    yield from _of_text(value, question)


def structured(text: str) -> JsonValue:
    """Returns what the text is as JSON, where that is an object or a list."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _of_text(text: str, question: str) -> Iterator[_Change]:
    yield from _of_calls_in(text)
    facts_seen = facts(text, taken=question)
    for fact in _answering(facts_seen, text, question):
        changed = f"{text[: fact.start]}{fact.other}{text[fact.end :]}"
        yield fact.kind, changed, f"{text[fact.start : fact.end]} → {fact.other}", fact.sure
    for turned in contraries(text):
        yield "negation", turned.text, "says the contrary", turned.sure
    yield from _of_signs(text)
    yield from _of_operands(text)
    yield from _of_steps(text)
    yield from _of_order(text, question)


def _answering(facts_seen: Sequence[Fact], text: str, question: str) -> Sequence[Fact]:
    """The facts that answer; those that only repeat the question where there is no other."""
    new = [fact for fact in facts_seen if not holds(question, text[fact.start : fact.end])]
    return _first_of_each(new if any(fact.sure for fact in new) else facts_seen)


def _first_of_each(facts_seen: Sequence[Fact]) -> list[Fact]:
    """Enough facts of each kind for its mutants, some of which may turn out to be right."""
    taken: Counter[str] = Counter()
    first_facts: list[Fact] = []
    for fact in facts_seen:
        taken[fact.kind] += 1
        if taken[fact.kind] <= 2 * MOST_OF_A_KIND:
            first_facts.append(fact)
    return first_facts


_CALL = re.compile(r"(?P<name>[A-Za-z_][\w.]{0,99}+)\((?P<inside>[^()]*)\)")
_ARGUMENT = re.compile(
    r"(?P<name>\w{1,100}+)\s*+[=:]\s*+(?P<value>\"[^\"]*\"|'[^']*'|[-\w.]+)|(?P<bare>\"[^\"]*\"|'[^']*'|-?\d[\d.]*)"
)


def _of_calls_in(text: str) -> Iterator[_Change]:
    """A call that is written as code, with one of its arguments changed."""
    for call in _CALL.finditer(text):
        for argument in _ARGUMENT.finditer(call["inside"]):
            part = "value" if argument["value"] else "bare"
            shown = argument[part]
            other = _other_argument(shown)
            start = call.start("inside") + argument.start(part)
            yield "argument", f"{text[:start]}{other}{text[start + len(shown) :]}", f"{shown} → {other}", True


def _other_argument(shown: str) -> str:
    mark = shown[0] if shown[0] in "\"'" else ""
    return f"{mark}{_other_scalar(shown.strip(mark) if mark else shown)}{mark}"


def _other_scalar(text: str) -> str:
    for fact in facts(text):
        return f"{text[: fact.start]}{fact.other}{text[fact.end :]}"
    if text.casefold() in {"true", "false"}:
        return "false" if text.casefold() == "true" else "true"
    return "Tessaro" if text[:1].isupper() else "tessaro"


_OPERANDS = re.compile(r"(\\frac)\{([^{}]*)\}\{([^{}]*)\}")


def _of_operands(text: str) -> Iterator[_Change]:
    """A fraction that stands on its head."""
    match = _OPERANDS.search(text)
    if match is not None and match[2] != match[3]:
        changed = f"{text[: match.start()]}{match[1]}{{{match[3]}}}{{{match[2]}}}{text[match.end() :]}"
        yield "argument", changed, "numerator and denominator in each other's place", True


def _of_signs(text: str) -> Iterator[_Change]:
    """An answer of signs alone, such as Morse code, with two of them in each other's place."""
    signs = [*dict.fromkeys("".join(text.split()))]
    if len(text) >= 3 and len(signs) >= 2 and not any(sign.isalnum() for sign in signs):
        changed = text.translate(str.maketrans(signs[0] + signs[1], signs[1] + signs[0]))
        yield "name", changed, f"{signs[0]} and {signs[1]} in each other's place", True


_NUMBERED = re.compile(r"(?m)^[ \t]*(?:\d+[.)]|[-*•])[ \t]+\S[^\n]*(?:\n|\Z)")
_INLINE = re.compile(r"(?:(?<=\s)|\A)\d+[.)] +(?:(?!\s\d+[.)] ).)+", re.DOTALL)
_THEN = re.compile(
    r",? (?:and )?(?:then|afterwards|after that|finally|next|dann|danach|anschließend|schließlich|puis|ensuite|enfin|luego"
    r"|después|poi|infine|depois)\b,? |; ",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^\W*(?:first|zuerst|zunächst|d'abord|primero|prima|primeiro)\b", re.IGNORECASE)
_SEQUEL = re.compile(
    r"\s(?:Then|Next|Finally|After that|Afterwards|Dann|Danach|Puis|Ensuite|Enfin|Luego|Después|Poi|Depois)\b"
)
_WHOLE_SENTENCE = re.compile(r"[^.!?]+[.!?]+\s*|[^.!?]+\Z")


def _of_steps(text: str) -> Iterator[_Change]:
    """A list of steps without one of them: a line, a numbered part, or a clause after "then"."""
    for pattern in (_NUMBERED, _INLINE):
        steps = list(pattern.finditer(text))
        if len(steps) >= 2:
            yield from _without_each(text, [step.span() for step in steps])
            return
    if _SEQUEL.search(text):
        sentences = [match.span() for match in _WHOLE_SENTENCE.finditer(text)]
        if len(sentences) >= 2:
            yield from _without_each(text, sentences)
            return
    ends = [match.start() for match in _THEN.finditer(text)]
    if ends and (len(ends) > 1 or _FIRST.match(text) or " then " in text):
        bounds = [*ends, len(text.rstrip(". \n"))]
        yield from _without_each(text, list(pairwise(bounds)))


_ORDER = re.compile(
    r"\b(?:order(?:ed)?|rank\w*|sort\w*|steps?|sequence|chronolog\w*|top \w+|(?:\w+est|most|least|best|worst) first|first to last"
    r"|how (?:do|to|can)|reihenfolge|sortier\w*|schritte?|zuerst|ordre|class\w+|étapes|orden|pasos|ordine|ordem)\b",
    re.IGNORECASE,
)
"""A question whose answer has an order."""
_ITEM = re.compile(r"(?m)^([ \t]*\d{1,3}[.)][ \t]+)(\S.*)$")


def _of_order(text: str, question: str) -> Iterator[_Change]:
    """A numbered list with its first and its last entry in each other's place; it may be right where no order is asked for."""
    items = list(_ITEM.finditer(text))
    if len(items) < 2 or items[0][2] == items[-1][2]:
        return
    first, last = items[0], items[-1]
    changed = f"{text[: first.start(2)]}{last[2]}{text[first.end(2) : last.start(2)]}{first[2]}{text[last.end(2) :]}"
    yield (
        "step",
        changed,
        f"“{first[2][:40]}” and “{last[2][:40]}” in each other's place",
        bool(_ORDER.search(question)),
    )


def _without_each(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[_Change]:
    for start, end in sorted(spans, key=lambda span: span[0] == spans[0][0])[:MOST_OF_A_KIND]:
        yield "step", f"{text[:start]}{text[end:]}", f"without “{text[start:end].strip(' ,;')[:60]}”", True


def _of_structure(value: JsonValue) -> Iterator[_Change]:
    """A value with one leaf changed; lists and objects with one element or key left out."""
    for number, (path, leaf) in enumerate(_leaves(value)):
        if number >= MOST_LEAVES:
            return
        for kind, other, sure in _of_leaf(path, leaf):
            yield kind, _with(value, path, other), f"{_path_text(path)}: {leaf!r} → {other!r}", sure
    for path, held in _lists(value):
        if len(held) > 1:
            yield "step", _with(value, path, held[:-1]), f"{_path_text(path)} without its last element", True


_ARGUMENTS = frozenset({"arguments", "args", "parameters", "params", "input", "arguments_json", "kwargs"})


def _of_leaf(path: tuple[str | int, ...], leaf: JsonValue) -> Iterator[tuple[MutantKind, JsonValue, bool]]:
    in_call = any(part in _ARGUMENTS for part in path)
    if in_call and leaf is not None and not isinstance(leaf, dict | list):
        yield "argument", other_value(leaf), True
        return
    if isinstance(leaf, bool):
        yield "negation", not leaf, True
    elif isinstance(leaf, int | float):
        yield "number", _far_from(leaf), True
    elif isinstance(leaf, str):
        facts_seen = facts(leaf)
        for fact in facts_seen:
            yield fact.kind, f"{leaf[: fact.start]}{fact.other}{leaf[fact.end :]}", fact.sure
        for turned in contraries(leaf):
            yield "negation", turned.text, turned.sure
        if not facts_seen and leaf.strip() and len(leaf.split()) <= 4 and not list(contraries(leaf)):
            yield "name", "Tessaro" if leaf[0].isupper() else "tessaro", True


def _far_from(number: float) -> int | float:
    return number * 3 + 7 if number >= 0 else number * 3 - 7


def other_value(value: JsonValue) -> JsonValue:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return _far_from(value)
    if isinstance(value, str):
        return _other_scalar(value) if value else "tessaro"
    if isinstance(value, list):
        return value[:-1] if value else ["tessaro"]
    if isinstance(value, dict) and value:
        first = next(iter(value))
        return {**value, first: other_value(value[first])}
    return "tessaro"


_Path = tuple[str | int, ...]


def _leaves(value: JsonValue, path: _Path = ()) -> Iterator[tuple[_Path, JsonValue]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    else:
        yield path, value


def _lists(value: JsonValue, path: _Path = ()) -> Iterator[tuple[_Path, list[JsonValue]]]:
    if isinstance(value, list):
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in inner:
        yield from _lists(held, (*path, key))


def _with(value: JsonValue, path: Sequence[str | int], leaf: JsonValue) -> JsonValue:
    if not path:
        return leaf
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, cast("str", first): _with(value[cast("str", first)], rest, leaf)}
    assert isinstance(value, list), "a path leads through objects and lists"
    return [_with(inner, rest, leaf) if number == first else inner for number, inner in enumerate(value)]


def _path_text(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path)) or "the value"


def _of_log(reference: Reference, *, alone: bool) -> Iterator[Mutant]:
    """The log without one of its calls, and with one argument of one call changed.

    `alone`: no check looks at the text, so that a call of which no argument is known must be told from one with wrong arguments.
    """
    calls = reference.tool_calls or ()
    for number, call in list(enumerate(calls))[::-1]:
        rest = (*calls[:number], *calls[number + 1 :])
        yield Mutant("step", reference.output, rest, f"without call {number + 1} ({call.tool})")
    for number, call in enumerate(calls):
        for name, changed in _changed(call.arguments):
            other = replace_call(call, name, changed)
            log = (*calls[:number], other, *calls[number + 1 :])
            sentence = f"{name} of call {number + 1} ({call.tool}): {call.arguments[name]!r} → {changed!r}"
            yield Mutant("argument", reference.output, log, sentence)
        if alone and not call.arguments:
            other = replace_call(call, "tessaro", "tessaro")
            log = (*calls[:number], other, *calls[number + 1 :])
            yield Mutant("argument", reference.output, log, f"call {number + 1} ({call.tool}) with wrong arguments")


def _changed(arguments: Mapping[str, JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    for name, value in arguments.items():
        yield name, other_value(value)


def replace_call(call: ToolCall, name: str, value: JsonValue) -> ToolCall:
    """The call with another value of that argument."""
    return call.model_copy(update={"arguments": {**call.arguments, name: value}})
