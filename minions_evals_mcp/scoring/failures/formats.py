"""The test of an output's form against the one that was asked for: JSON that parses, the expected value's shape, a whole text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pydantic import JsonValue

from minions_evals_mcp.domain.outputs import TEXT_KEYS, output_text, output_value
from minions_evals_mcp.late_patterns import late
from minions_evals_mcp.scoring.failures.asked_form import form_asked_for
from minions_evals_mcp.scoring.failures.cut_off import cut_off_json
from minions_evals_mcp.scoring.failures.exact_answers import wording_signals
from minions_evals_mcp.scoring.failures.failed import FailedCriterion, FailedOutput, Signal
from minions_evals_mcp.scoring.failures.judged import form_doubt
from minions_evals_mcp.scoring.failures.own_checks import CODE, failed_checks
from minions_evals_mcp.scoring.failures.texts import cut, parsed, unfenced
from minions_evals_mcp.scoring.failures.unborne import names_absent
from minions_evals_mcp.scoring.failures.wanted import flattened

TRUNCATED = frozenset(("max_tokens", "length", "model_context_window_exceeded", "max_output_tokens"))
"""Stop reasons, lower case, of a reply that was cut off."""
_FORMAT_NAME = late(
    r"\b(?:format|formatting|schema|json|xml|yaml|csv|markdown|structure|well-?formed)\b", re.IGNORECASE
)
_CHECK_SAYS = late(
    r"is a required property|is not of type|is not valid under|does not (?:match|fit) the schema|\bnot? (?:valid )?(?:json|xml|html|yaml)\b"
    r"|(?:wrong|incorrect|invalid|bad|broken) (?:output )?(?:format|syntax)|format (?:was |is )?(?:not followed|ignored|wrong|violated)"
    r"|not (?:in |follow )?(?:the )?(?:requested|required|asked|expected|correct|right|specified) (?:output )?"
    r"(?:format|form|structure|layout)"
    r"|should (?:be|have been) (?:a |an |in |valid )?(?:json|xml|yaml|html|csv|markdown|table|bullet|numbered list)"
    r"|(?:bullet points?|headings?|a table|json|markdown) (?:was|were) (?:required|requested|asked for|expected)|malformed|cut off mid"
    r"|falsche\w* format|kein gültiges|mauvais format|formato (?:incorrecto|equivocado|errado|sbagliato)"
    r"|invalid (?:json|xml|html|sql|yaml)|not valid (?:\w+ )?sql|(?:could not|cannot|does not|failed to) parse|not parseable",
    re.IGNORECASE,
)
FORM = {
    "is-json": 0.9, "contains-json": 0.9, "is-xml": 0.9, "contains-xml": 0.9, "is-html": 0.9, "contains-html": 0.9,
    "is-sql": 0.9, "contains-sql": 0.9, "starts-with": 0.8, "word-count": 0.85, "is-valid-openai-tools-call": 0.85,
}  # fmt: skip
"""Checks of the form, and how surely a failed one is a format error."""
_HAS_OR_NOT = frozenset(
    ("contains", "icontains", "contains-all", "contains-any", "not-contains", "not-icontains", "ends-with")
)
_ALNUM = late(r"[^\W_]")
_TAG = late(r"</?\w+/?>")
_MEASURES = late(
    r"\.length\b|\blen\(|JSON\.parse|json\.loads|\.split\(|\.isupper|\.islower|startsWith|startswith|toUpperCase\(\) ?={2,3}"
)
_MORE = late(r"\b(?:and|or|in)\b|&&|\|\||\.includes\(|\.indexOf\(|\.count\(")
"""Code that looks for something else, too."""
JSON_CHECKS = frozenset(("is-json", "contains-json"))
_PATTERN = late(r"does not match the pattern (.+)", re.DOTALL)
_TOO_FEW = late(r"(\d+) words, wanted ([\d.e+]+)")
_BEGINS = late(r"(?:\(\?[a-z]+\))?(?:\^|\\A)")
_ENDS = late(r"(?:\$|\\[zZ])$")
_META = late(r"[\\\[\](){}*+?|.]")
_PARSER_FAILED = late(
    r"JSONDecodeError|OutputParser|(?:could not|cannot|failed to|unable to) parse|invalid (?:json|schema|format)"
    r"|validation error",
    re.IGNORECASE,
)
_KINDS: dict[type, str] = {
    dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null",
}  # fmt: skip


def format_signals(failed: FailedOutput) -> tuple[Signal, ...]:
    """All that is wrong with the output's form; what a judge of the form found nothing wrong with is not read again."""
    signals = (*_truncation(failed), *_agent_parser(failed), *_checks(failed), *_criteria(failed))
    if _form_was_good(failed):
        return signals
    return (
        *signals,
        *_json(failed),
        *_keys(failed),
        *_cut_off(failed),
        *form_asked_for(failed),
        *(() if failed.is_empty else (*wording_signals(failed), *_markup(failed))),
    )


def _form_was_good(failed: FailedOutput) -> bool:
    """Returns whether a criterion of the form has its full score: then only another one lost."""
    return any(criterion.fraction >= 1 and _FORMAT_NAME.search(criterion.name) for criterion in failed.criteria)


def is_truncated(failed: FailedOutput) -> bool:
    """Returns whether the model stopped at its token limit."""
    return (failed.stop_reason or "").casefold() in TRUNCATED


def _truncation(failed: FailedOutput) -> Iterator[Signal]:
    if is_truncated(failed):
        yield Signal("truncated", f"stop reason {failed.stop_reason} after …{failed.text[-80:]}", 0.95)


def _agent_parser(failed: FailedOutput) -> Iterator[Signal]:
    if failed.agent_error and _PARSER_FAILED.search(failed.agent_error):
        yield Signal("parser", failed.agent_error, 0.8)


def _json(failed: FailedOutput) -> Iterator[Signal]:
    if not (failed.wants_json or (failed.agent_error and _asks_json(failed))):
        return
    if failed.is_empty:
        if not failed.agent_error:
            yield Signal("json", "JSON was wanted and nothing came", 0.8)
        return
    try:
        value = _value(failed)
    except ValueError as error:
        yield _unparsed(failed.text, error)
        return
    if failed.expected:
        yield from _shape(_expected_value(failed.expected), value, "")


def _asks_json(failed: FailedOutput) -> bool:
    """Returns whether a check of the case is for JSON: no check was tried where the agent failed."""
    return any(check.type in JSON_CHECKS for check in flattened(failed.checks))


def _unparsed(text: str, error: ValueError) -> Signal:
    """Returns why the text is no JSON: talk around it, cut off, or a fault at a place."""
    bare = unfenced(text)
    start = min((place for place in (bare.find("{"), bare.find("[")) if place >= 0), default=-1)
    if start > 0 and _starts_json(bare, start):
        return Signal("json", f"words around the JSON: {bare[:100]}", 0.85)
    if start < 0:
        return Signal("json", f"words instead of JSON: {bare[:100]}", 0.9)
    if isinstance(error, json.JSONDecodeError):
        near = error.doc[max(0, error.pos - 20) : error.pos + 20]
        return Signal("json", f"{error.msg.removesuffix(' at')} at character {error.pos}, near {near!r}", 0.95)
    return Signal("json", str(error), 0.95)


def _starts_json(text: str, start: int) -> bool:
    try:
        json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    return True


def _value(failed: FailedOutput) -> JsonValue:
    """The JSON value that came: the record itself where it has several keys and none of them is its text."""
    if len(failed.output) > 1 and not any(key in failed.output for key in TEXT_KEYS):
        return failed.output
    return parsed(failed.text)


def _expected_value(expected: dict[str, JsonValue]) -> JsonValue:
    """The value that was wanted, out of its record and out of its text."""
    wanted = next(iter(expected.values())) if len(expected) == 1 else expected
    if isinstance(wanted, str):
        try:
            return parsed(wanted)
        except ValueError:
            return None
    return wanted


def _shape(wanted: JsonValue, output_part: JsonValue, path: str) -> Iterator[Signal]:
    """Missing keys and values of another type, breadth of the wanted value only; null on either side fits anything."""
    pending = [(wanted, output_part, path)]
    while pending:
        wanted, output_part, path = pending.pop()
        if wanted is None or output_part is None:
            continue
        if _KINDS[type(wanted)] != _KINDS[type(output_part)]:
            yield Signal(
                "schema", f"{path or 'the value'} is {_KINDS[type(output_part)]}, not {_KINDS[type(wanted)]}", 0.85
            )
        elif isinstance(wanted, dict) and isinstance(output_part, dict):
            for key, value in wanted.items():
                if key in output_part:
                    pending.append((value, output_part[key], f"{path}.{key}".lstrip(".")))
                else:
                    yield Signal("schema", f"key {key!r} is missing", 0.85)


def _keys(failed: FailedOutput) -> Iterator[Signal]:
    """Keys that were expected, or that an expected value has, and that did not come."""
    wanted = failed.expected or {}
    if failed.wants_json or failed.is_empty:
        return
    try:
        came = _value(failed)
    except ValueError:
        came = None
    if isinstance(came, dict) and (failed.lacks or len(wanted) > 1):
        yield from _shape(wanted, came, "")
        return
    for key in failed.lacks:
        yield Signal("schema", f"key {key!r} is missing", 0.85)
    for key, value in wanted.items():
        part = _part(failed, key)
        if isinstance(value, dict) and isinstance(part, dict):
            yield from _shape(value, part, "" if len(wanted) == 1 else key)


def _part(failed: FailedOutput, key: str) -> JsonValue:
    """The value under that key, else the whole output's; None where it is no JSON."""
    value = failed.output.get(key, output_value(failed.output))
    if not isinstance(value, str):
        return value
    try:
        return parsed(value)
    except ValueError:
        return None


def _cut_off(failed: FailedOutput) -> Iterator[Signal]:
    """JSON that stops in the middle where no check asked for JSON; where one did, its reason says so."""
    if not failed.wants_json and (end := cut_off_json(output_text(failed.output))) is not None:
        yield Signal("json", f"cut off after …{end}", 0.85)


def _checks(failed: FailedOutput) -> Iterator[Signal]:
    """Every check of the form that failed, by what the verdict says of it."""
    if failed.is_empty:
        return
    checks = [check for criterion in failed.criteria for check in failed_checks(criterion.rationale)]
    checks += [
        ("regex", criterion.rationale)
        for criterion in failed.criteria
        if not criterion.is_opinion and _PATTERN.match(criterion.rationale)
    ]
    sure = [_about_form(kind, reason, failed) for kind, reason in checks]
    says_too_little = 0.0 in sure
    for (kind, reason), confidence in zip(checks, sure, strict=True):
        if confidence and not (says_too_little and _too_short(kind, reason)):
            yield Signal("form", f"{kind}: {reason}", confidence)


@lru_cache(maxsize=1024)
def _names_broken_form(rationale: str) -> bool:
    return _CHECK_SAYS.search(rationale) is not None


def _markup(failed: FailedOutput) -> Iterator[Signal]:
    """Signs without a letter that a check wants or forbids (`|---|`, a code fence), and code that measures the answer."""
    lost = _failed_of_each_type(failed)
    for check in flattened(failed.checks):
        values = check.value if isinstance(check.value, list) else [check.value]
        texts = [value for value in values if isinstance(value, str) and value.strip()]
        if check.type in _HAS_OR_NOT and texts and not any(_ALNUM.search(_TAG.sub("", value)) for value in texts):
            forbids = check.type.startswith("not-")
            if any((value in failed.text) is forbids for value in texts):
                yield Signal("form", f"{check.type}: {cut(', '.join(texts))}", 0.8)
        elif (
            check.type in CODE
            and lost[check.type]
            and texts
            and _MEASURES.search(texts[0])
            and not _MORE.search(texts[0])
        ):
            yield Signal("form", f"{check.type}: {cut(texts[0])}", 0.7)


def _failed_of_each_type(failed: FailedOutput) -> Mapping[str, bool]:
    """For each type of check whether all checks of that type failed; where only some did, it is not known which."""
    reasons = Counter(kind for one in failed.criteria for kind, _ in failed_checks(one.rationale))
    checks = Counter(check.type for check in flattened(failed.checks))
    return {kind: reasons[kind] >= number for kind, number in checks.items()}


def _too_short(kind: str, reason: str) -> bool:
    """Returns whether too few words came: where what was to be said is missing, too, that is why."""
    counted = _TOO_FEW.match(reason) if kind == "word-count" else None
    return counted is not None and int(counted[1]) < float(counted[2])


def _about_form(kind: str, reason: str, failed: FailedOutput) -> float:
    """The confidence that a failed check is about the form; 0 where it is about something else."""
    if kind == "starts-with" and _lacks_the_answer(failed):
        return 0.0
    if kind in FORM:
        return FORM[kind]
    if kind == "regex" and (match := _PATTERN.search(reason)):
        pattern = match[1].strip("'\"`“”")
        if _TAG.search(pattern):
            return 0.8
        begins, ends = _BEGINS.match(pattern), _ENDS.search(pattern)
        inner = _ENDS.sub("", _BEGINS.sub("", pattern, count=1))
        if not (begins or ends) or (not _META.search(inner) and len(failed.text.split()) == len(inner.split())):
            return 0.0
        return 0.85 if begins and ends else 0.7
    return 0.85 if kind == "finish-reason" and "length" in reason.casefold() else 0.0


def _lacks_the_answer(failed: FailedOutput) -> bool:
    """Returns whether the output was to start with the expected answer itself, which stands nowhere in it."""
    begins = {str(check.value) for check in flattened(failed.checks) if check.type == "starts-with"}
    wanted = {str(value) for value in (failed.expected or {}).values()}
    return bool(begins & wanted) and not any(begin in failed.text for begin in begins & wanted)


def _criteria(failed: FailedOutput) -> Iterator[Signal]:
    """Checks that name a broken form, and a form criterion that cost more than any other."""
    lost = [criterion for criterion in failed.criteria if criterion.fraction < 1]
    for criterion in lost:
        if _names_broken_form(criterion.rationale):
            yield Signal("check", f"{criterion.name}: {criterion.rationale}", 0.8 if failed.wants_json else 0.6)
        elif (doubt := form_doubt(criterion.rationale)) and not names_absent(failed, criterion.rationale):
            yield Signal("judge", f"{criterion.name}: {criterion.rationale}", doubt)
    worst = max(lost, key=lambda criterion: criterion.loss, default=None)
    if worst and _FORMAT_NAME.search(worst.name) and not _tied(worst, lost):
        yield Signal("criterion", f"{worst.name}: {worst.rationale}", 0.65)


def _tied(worst: FailedCriterion, lost: list[FailedCriterion]) -> bool:
    return any(
        failed is not worst and failed.loss >= worst.loss and not _FORMAT_NAME.search(failed.name) for failed in lost
    )
