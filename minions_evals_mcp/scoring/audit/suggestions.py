"""Stricter checks that would close the holes of a case: proposed here, tried before anybody is shown one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import SET, Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.scoring.assertions.kinds.refusal import refusal_signals
from minions_evals_mcp.scoring.audit.cheats import INJECTION, AuditedCase
from minions_evals_mcp.scoring.audit.facts import facts
from minions_evals_mcp.scoring.audit.holes import Passing
from minions_evals_mcp.scoring.audit.mutants import structured
from minions_evals_mcp.scoring.audit.negation import ANSWERS
from minions_evals_mcp.scoring.audit.references import Reference
from minions_evals_mcp.scoring.audit.rules import Rules, RuleVerdict, ScorePart, Trial
from minions_evals_mcp.scoring.audit.words import content_words
from minions_evals_mcp.scoring.patterns import PATTERN_LIMIT
from minions_evals_mcp.scoring.verdicts.expected import expectation, is_pattern

MOST_ADDED = 5
LONGEST_ECHO = 4_000
SHORT = 6
"""Answers of so many words are told apart best by being equal."""
_NEGATIONS = (
    r"(?i)\b(?:not|never|no|none|cannot|without|nicht|nie|kein|keine|keinen|ohne|pas|jamais|non|nunca|mai|não|ni"
    r"|\w+n['’]t)\b"
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Checks of which some are to be added to a case: all are tried on right answers and on what passed and should not.

    `base` are the checks that the case has by now, as assertions, `stay` those of them that models grade; `replaces` says
    that they stood in a rubric.
    """

    asked: AuditedCase
    base: tuple[Assertion, ...]
    candidates: tuple[Assertion, ...]
    wrong: tuple[Passing, ...]
    replaces: bool = False
    stay: tuple[Assertion, ...] = ()

    @property
    def right(self) -> tuple[Json, ...]:
        """The answers that are known to be right."""
        reference = self.asked.reference
        return () if reference is None else (reference.output, *reference.paraphrases)

    def trials(self) -> Iterator[Trial]:
        """The right answers on every check at once, then the wrong ones on those that have to stop them."""
        reference = self.asked.reference
        log = () if reference is None else reference.tool_calls or ()
        rules = Rules(parts=(ScorePart("", "", (*self.base, *self.candidates)),))
        for output in self.right:
            yield Trial(rules, output, log, self.asked.inputs)
        if not self.replaces:
            rules = Rules(parts=(ScorePart("", "", self.candidates),))
        for cheat in self.wrong:
            yield Trial(rules, cheat.output, cheat.tool_calls or (), self.asked.inputs)


@dataclass(frozen=True, slots=True)
class Stricter:
    """The checks that a case should have, those of them that are new, and which holes they close or leave."""

    assertions: tuple[Assertion, ...]
    added: tuple[Assertion, ...]
    closes: tuple[str, ...]
    open: tuple[str, ...]
    untried: bool = False
    """No right answer is known that it could be tried on."""


BY_OTHERS = "Its rubric also has criteria that are not rules, and a suggestion would replace it. Make the guide of a criterion stricter."
FAILS_ITSELF = "Its expected answer fails its own checks. Correct one of them, then audit again."
NOTHING_FITS = "No tried check stops this and passes every correct answer. Compare with the whole answer (equals), or use a model judge."
REMEDIES = {
    "never-fails": "Remove the check that never fails, or make it stricter.",
    "never-passes": "Correct the check: nothing that was tried passes it.",
    "reference-fails": FAILS_ITSELF,
    "no-reference": "Add the expected output, so that mutants of it can be tried.",
    "duplicate": "Keep one of the two cases: the second adds nothing.",
}
"""What to do about a finding where nothing wrong passes."""
WRITE_IT_DOWN = "Add the expected output: without it, no check that stops this could be tried."


def proposal_of(
    request: AuditedCase, own: Sequence[Assertion], threshold: float | None, wrong: Sequence[Passing]
) -> Proposal | str:
    """Returns what could close those holes; a sentence where nothing can be proposed.

    `own`, `threshold`: the case's assertions, those that models grade among them.
    """
    rules, candidates = request.rules, tuple(_candidates(request, wrong))
    if rules.passing is not None:
        base = tuple(assertion for part in rules.parts for assertion in part.assertions)
        return BY_OTHERS if rules.left_out else Proposal(request, base, candidates, tuple(wrong), replaces=True)
    if rules.left_out:
        return Proposal(request, (), candidates, tuple(wrong), stay=_together(own, threshold))
    if rules.expected is not None:
        return Proposal(request, _expected(request), candidates, tuple(wrong))
    return Proposal(request, _together(own, threshold), candidates, tuple(wrong))


def _together(own: Sequence[Assertion], threshold: float | None) -> tuple[Assertion, ...]:
    if threshold is None:
        return tuple(own)
    return (Assertion.model_validate({"type": SET, "threshold": threshold, "assert": tuple(own)}),)


def _expected(request: AuditedCase) -> tuple[Assertion, ...]:
    """Returns what is expected, as assertions; nothing where several keys are, whose candidate asks for all of them."""
    rules = request.rules
    if request.keys or rules.expected is None:
        return ()
    ((_, value),) = rules.expected.items()
    return (Assertion(type="similar", value=value, threshold=0.8) if rules.by_similarity else expectation(value),)


def stricter(proposal: Proposal, verdicts: Sequence[RuleVerdict]) -> Stricter | str:
    """The fewest of the candidates that let the right answers pass and close the most holes; a sentence where none closes any."""
    right = verdicts[: len(proposal.right)]
    seen = verdicts[len(right) :]
    problem = next((verdict.problem for verdict in verdicts if verdict.passed is None), None)
    if problem is not None:
        return f"A check could not be tried: {problem}."
    first = len(proposal.base)
    fitting = [
        number for number in range(len(proposal.candidates)) if all(trial.checks[0][first + number] for trial in right)
    ]
    sound_checks = [
        assertion for number, assertion in enumerate(proposal.base) if all(trial.checks[0][number] for trial in right)
    ]
    if proposal.replaces:
        left = [
            place
            for place, trial in enumerate(seen)
            if all(trial.checks[0][proposal.base.index(assertion)] for assertion in sound_checks)
        ]
        seen = [trial._replace(checks=(trial.checks[0][first:],)) for trial in seen]
    elif len(sound_checks) < first:
        return FAILS_ITSELF
    else:
        left = list(range(len(seen)))
    strict = {number for number in fitting if _is_strict(proposal.candidates[number])}
    added: list[int] = []
    for several in ([number for number in fitting if number not in strict], sorted(strict)):
        while left and len(added) < MOST_ADDED:
            best = max(several, key=lambda number: (_closed(seen, left, number), -number), default=None)
            if best is None or not _closed(seen, left, best):
                break
            added.append(best)
            left = [place for place in left if seen[place].checks[0][best]]
    if not added:
        return NOTHING_FITS if proposal.right else WRITE_IT_DOWN
    new = tuple(proposal.candidates[number] for number in added)
    kinds = tuple(dict.fromkeys(cheat.kind for cheat in proposal.wrong))
    still = tuple(kind for kind in kinds if any(proposal.wrong[place].kind == kind for place in left))
    closes = tuple(kind for kind in kinds if kind not in still)
    return Stricter((*proposal.stay, *sound_checks, *new), new, closes, still, untried=not proposal.right)


def _is_strict(candidate: Assertion) -> bool:
    """Returns whether a check leaves an agent hardly a word of its own: taken only where others leave a hole."""
    whole = candidate.type == "regex" and str(candidate.value).endswith(r"\W*$")
    return whole or candidate.type in {"equals", "levenshtein"}


def _closed(seen: Sequence[RuleVerdict], left: Sequence[int], number: int) -> int:
    return sum(not seen[place].checks[0][number] for place in left)


def _candidates(request: AuditedCase, wrong: Sequence[Passing]) -> Iterator[Assertion]:
    """The candidates, those first that leave an agent its own words."""
    if request.reference is None:
        yield from _of_cheats(request.rules, wrong)
    elif request.keys:
        yield Assertion(type="is-json", value=_schema_of_keys(request.rules.expected or request.reference.output))
    else:
        yield from _of_reference(request, request.reference)


def _of_cheats(rules: Rules, wrong: Sequence[Passing]) -> Iterator[Assertion]:
    """Checks that no answer worth its name fails, whatever it says."""
    kinds = {cheat.kind for cheat in wrong}
    if "empty" in kinds:
        yield Assertion(type="regex", value=r"\S")
    if kinds & {"empty", "refusal"} and not any(assertion.type == "is-refusal" for assertion in rules.assertions()):
        yield Assertion(type="not-is-refusal")
    if "injection" in kinds:
        yield Assertion(type="not-icontains", value=INJECTION.partition(" and ")[0])
    for cheat in wrong:
        if cheat.kind == "echo" and len(cheat.text) <= LONGEST_ECHO:
            yield Assertion(type="not-equals", value=cheat.text)


def _schema_of_keys(expected: Json) -> Json:
    """The JSON Schema of an output with those keys: their values, or the patterns that they have to match."""
    each: Json = {key: _schema_or_pattern(value) for key, value in expected.items()}
    return {"type": "object", "required": [*expected], "properties": each}


def _schema_or_pattern(value: JsonValue) -> Json:
    return {"type": "string", "pattern": str(value)[1:-1]} if is_pattern(value) else schema_of(value)


def _of_reference(request: AuditedCase, reference: Reference) -> Iterator[Assertion]:
    text = reference.text
    if request.rules.look_at_log() and reference.tool_calls:
        yield _same_log(reference)
    parsed = structured(text)
    if parsed is not None:
        yield Assertion(type="is-json", value=schema_of(parsed))
        return
    if not text.strip() or (request.rules.look_at_log() and not request.rules.look_at_text()):
        return
    if not refusal_signals(text):
        yield Assertion(type="not-is-refusal")
    yield from _of_facts(text)
    yield from _of_sense(text)
    yield from _of_length(reference)
    words_used = [word for word in dict.fromkeys(content_words(text)) if len(word) > 2]
    if len(words_used) > 2:
        longest = sorted(words_used, key=len, reverse=True)[: max(2, round(0.6 * len(words_used)))]
        asked_for: list[JsonValue] = [word for word in words_used if word in longest]
        yield Assertion(type="icontains-all", value=asked_for[:12])
    if len(text.split()) > SHORT:
        yield Assertion(type="levenshtein", value=text, threshold=float(max(3, len(text) // 4)))
    whole = rf"(?i)^\W*{_written(text.strip().rstrip('.!'))}\W*$"
    if len(whole) <= PATTERN_LIMIT:
        yield Assertion(type="regex", value=whole)
    yield Assertion(type="equals", value=text)


def _written(text: str) -> str:
    """The text as a pattern that a person can read."""
    return re.escape(text).replace("\\ ", " ")


def _same_log(reference: Reference) -> Assertion:
    steps: list[JsonValue] = [{"name": call.tool, "args": call.arguments} for call in reference.tool_calls or ()]
    return Assertion(type="trajectory:match", value={"steps": steps})


def _of_facts(text: str) -> Iterator[Assertion]:
    """That each number, date and name of the reference stands in the output."""
    facts_seen = facts(text)
    shown = list(dict.fromkeys(text[fact.start : fact.end] for fact in facts_seen if fact.sure))[:8]
    if shown:
        yield Assertion(type="icontains-all", value=[*shown])
    for fact in shown:
        begin, end = (r"\b" if fact[0].isalnum() else ""), (r"\b" if fact[-1].isalnum() else "")
        yield Assertion(type="regex", value=f"{begin}{_written(fact)}{end}")


def _of_sense(text: str) -> Iterator[Assertion]:
    """That the output says yes or no as the reference does."""
    first = re.match(r"\W*([^\W\d_]+)", text)
    word = first[1].casefold() if first else ""
    if word in ANSWERS and len(text.split()) <= SHORT:
        yield Assertion(type="not-regex", value=rf"(?i)\b{re.escape(ANSWERS[word])}\b")
    if word in ANSWERS:
        yield Assertion(type="regex", value=rf"(?i)^\W*{re.escape(word)}\b")
    negated = re.search(_NEGATIONS, text)
    yield Assertion(type="not-regex" if negated is None else "regex", value=_NEGATIONS)
    if negated is not None:
        yield Assertion(type="icontains", value=text[negated.start() : negated.end() + 12].strip().split("\n")[0])


def _of_length(reference: Reference) -> Iterator[Assertion]:
    texts = [reference.text, *(Trial(Rules(), paraphrase, None).subject.text for paraphrase in reference.paraphrases)]
    longest, shortest = max(len(text.split()) for text in texts), min(len(text.split()) for text in texts)
    for most in (2 * longest + 8, longest + 3, longest):
        yield Assertion(type="word-count", value={"max": most})
    if shortest > 2:
        yield Assertion(type="word-count", value={"min": max(1, shortest * 2 // 3)})


def schema_of(value: JsonValue) -> Json:
    """The JSON Schema that only this value fits, with no key besides its own."""
    if isinstance(value, dict):
        properties: Json = {key: schema_of(held) for key, held in value.items()}
        return {"type": "object", "required": [*value], "additionalProperties": False, "properties": properties}
    if isinstance(value, list):
        each: list[JsonValue] = [schema_of(item) for item in value]
        return {"type": "array", "prefixItems": each, "minItems": len(value), "maxItems": len(value)}
    return {"const": value}


def in_words(tightened: Stricter) -> str:
    """The suggestion in one sentence."""
    shown = "; ".join(
        f"{assertion.type} {json.dumps(assertion.value, ensure_ascii=False)}"
        if assertion.value is not None
        else assertion.type
        for assertion in tightened.added
    )
    left = f"; {', '.join(tightened.open)} would still pass" if tightened.open else ""
    stops = ", ".join(tightened.closes) or "less"
    verb = "pass" if len(tightened.closes) > 1 else "passes"
    if tightened.untried:
        return (
            f"Add {shown}: {stops} no longer {verb}{left}. There is no correct answer to try it on. With an expected output, more can be"
            " suggested."
        )
    return f"Add {shown}: the expected answer still passes; {stops} no longer {verb}{left}."
