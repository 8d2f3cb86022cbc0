"""Outputs that a check should be able to tell apart: some that it must fail, some that it must pass."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.audit.logs import log_asked_for
from minions_evals_mcp.scoring.audit.references import Reference
from minions_evals_mcp.scoring.audit.rules import CODE, LOGGED, MEASURED, Rules, flat
from minions_evals_mcp.scoring.audit.samples import text_found_by
from minions_evals_mcp.scoring.audit.satisfying import listed, literals, satisfying_one, texts_in
from minions_evals_mcp.scoring.verdicts.expected import is_pattern

LONG = " ".join(f"word{number}" for number in range(2_000))
GENERAL = (
    "",
    "zqx vrlk",
    LONG,
    '{"zqx": 1}',
    "987654321",
    "Zqx?\n\n- vrlk\n- zqx",
    "<p>zqx</p>",
    "0",
    "-1",
    "SELECT zqx FROM vrlk",
)
MANY_CALLS = tuple(ToolCall(tool=f"zqx{number}", arguments={"vrlk": number}) for number in range(60))
MOST = 60

Probe = tuple[Json, tuple[ToolCall, ...] | None]


def probes(rules: Rules, reference: Reference | None) -> list[Probe]:
    """Outputs of all sorts, and for each check what it forbids and what it asks for."""
    calls = None if reference is None else reference.tool_calls
    texts = [*GENERAL, *(text for assertion in rules.assertions() for text in _about(assertion))]
    if reference is not None:
        texts.append(reference.text)
    probes_made: list[Probe] = [({"output": text}, calls or ()) for text in dict.fromkeys(texts)]
    if rules.expected is not None and len(rules.expected) > 1:
        probes_made = [(dict.fromkeys(rules.expected, output["output"]), log) for output, log in probes_made]
        probes_made.insert(0, ({key: _sample(value) for key, value in rules.expected.items()}, calls or ()))
    if rules.look_at_log():
        output: Json = {"output": "zqx"} if reference is None else reference.output
        probes_made += [(output, ()), (output, MANY_CALLS), *((output, log) for log in _logs(rules))]
    return probes_made[:MOST]


def _sample(expected: JsonValue) -> JsonValue:
    """Returns what is expected, a text that it finds in place of a pattern."""
    return text_found_by(str(expected)[1:-1]) or "a" if is_pattern(expected) else expected


def _about(assertion: Assertion) -> Iterator[str]:
    """Yields what a negated check forbids, what any other asks for."""
    yield from satisfying_one(assertion)
    if assertion.base_type in CODE:
        yield from list(literals(str(assertion.value)))[:4]
    elif assertion.base_type == "regex":
        yield text_found_by(str(assertion.value)) or "a"
    elif assertion.negated and assertion.base_type not in LOGGED | MEASURED:
        yield from satisfying_one(assertion.model_copy(update={"type": assertion.base_type}))
        yield " ".join(listed(assertion.value) or texts_in(assertion.value))


def _logs(rules: Rules) -> Iterator[tuple[ToolCall, ...]]:
    for assertion in rules.assertions():
        log = (
            log_asked_for([assertion.model_copy(update={"type": assertion.base_type})])
            if assertion.base_type in LOGGED
            else None
        )
        if log is not None:
            yield log


def may_never_fail(assertion: Assertion) -> bool:
    """Returns whether a check that no output failed is to be blamed: not one of a measure, nor one that is only reported."""
    types = {inner.base_type for inner in flat([assertion])}
    return assertion.weight > 0 and not types <= MEASURED


def is_contradictory(rules: Rules) -> bool:
    """Returns whether the checks of a part that must all hold contradict each other, as far as that can be told for sure."""
    if rules.passing is not None:
        return False
    return any(part.threshold is None and _contradict([*part.assertions]) for part in rules.parts)


def _contradict(together: list[Assertion]) -> bool:
    needed = [assertion for assertion in together if assertion.weight > 0 and assertion.base_type != "assert-set"]
    low = max((_bound(assertion, "min", 0.0) for assertion in needed if assertion.type == "word-count"), default=0.0)
    high = min(
        (_bound(assertion, "max", float("inf")) for assertion in needed if assertion.type == "word-count"),
        default=float("inf"),
    )
    if low > high:
        return True
    equal = {
        str(assertion.value)
        for assertion in needed
        if assertion.type == "equals" and not isinstance(assertion.value, dict | list)
    }
    begins = [text for assertion in needed if assertion.type == "starts-with" for text in texts_in(assertion.value)]
    if len(equal) > 1 or any(not a.startswith(b) and not b.startswith(a) for a in begins for b in begins):
        return True
    if any(not _is_in(must, text) for text in equal for must in _musts(needed)):
        return True
    types = {assertion.type for assertion in needed}
    if any(assertion.negated and not assertion.value and assertion.base_type in types for assertion in needed):
        return True
    return any(
        _forbids(assertion, needed_text) for assertion in needed if assertion.negated for needed_text in _musts(needed)
    )


def _is_in(must: tuple[str, bool], text: str) -> bool:
    part, exact = must
    return part in text if exact else part.casefold() in text.casefold()


def _musts(needed: list[Assertion]) -> Iterator[tuple[str, bool]]:
    """Texts that an output must have, and whether their case counts."""
    for assertion in needed:
        if assertion.type in {"contains", "starts-with", "equals"}:
            yield from ((text, True) for text in texts_in(assertion.value))
        elif assertion.type == "contains-all":
            yield from ((text, True) for text in listed(assertion.value))
        elif assertion.type in {"icontains", "icontains-all"}:
            yield from ((text, False) for text in listed(assertion.value))


def _forbids(assertion: Assertion, must: tuple[str, bool]) -> bool:
    text, exact = must
    if assertion.base_type in {"icontains", "icontains-any"}:
        return any(word and word.casefold() in text.casefold() for word in listed(assertion.value))
    if assertion.base_type in {"contains", "contains-any"}:
        return exact and any(word and word in text for word in listed(assertion.value))
    return False


def _bound(assertion: Assertion, key: str, default: float) -> float:
    value = assertion.value
    bound = value.get(key, default) if isinstance(value, dict) else value
    return float(bound) if isinstance(bound, int | float) else default
