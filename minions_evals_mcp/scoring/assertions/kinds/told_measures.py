"""`perplexity`, `perplexity-score`, `skill-used`: checks of what a provider told beside its output.

`logProbs` (a list of numbers) are the logarithms of the tokens' probabilities; `metadata.skillCalls` the skills that an
agent used. Where promptfoo 0.123.1 and we differ: an output without the former is no verdict, there the test is an error;
an output whose provider told nothing at all is no verdict for `skill-used`, there no skill was used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from operator import eq

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertion_kind import AssertionKind
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.skill_use import is_named, skills_in
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

NO_SKILLS = Unmet(
    "the provider returned no metadata with skillCalls, and no tool calls were recorded", not_judgeable=True
)
NO_LOG_PROBS = Unmet("the provider returned no log probabilities (logProbs)", not_judgeable=True)


def perplexity(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The perplexity, e to the minus of the mean log probability, is at most `threshold`; without one any passes."""
    mean = _mean_log_prob(subject)
    if mean is None:
        return NO_LOG_PROBS
    perplexity_seen, limit = math.exp(-mean), assertion.threshold
    sentence = f"perplexity {perplexity_seen:.2f}" + ("" if limit is None else f", at most {limit:g}")
    if limit is None:
        return UnweightedResult(not assertion.negated, sentence, 1.0, 1.0)
    return UnweightedResult(perplexity_seen <= limit, sentence)


def perplexity_score(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """1 / (1 + perplexity) reaches `threshold`; without one any passes. That is the score."""
    mean = _mean_log_prob(subject)
    if mean is None:
        return NO_LOG_PROBS
    score, limit = 1 / (1 + math.exp(-mean)), assertion.threshold
    sentence = f"1 / (1 + perplexity) is {score:.3f}" + ("" if limit is None else f", at least {limit:g}")
    return UnweightedResult(not assertion.negated if limit is None else score >= limit, sentence, score)


def guardrails(_assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """The provider's safety checks flagged nothing; of one that told of none, nothing was flagged."""
    answer = subject.facts.get("providerResponse")
    guardrail = answer.get("guardrails") if isinstance(answer, dict) else None
    if guardrail is None and not subject.whole_response:
        return Unmet("the provider returned no guardrails", not_judgeable=True)
    flagged = isinstance(guardrail, dict) and bool(guardrail.get("flagged"))
    return UnweightedResult(not flagged, f"the provider's safety checks flagged {'it' if flagged else 'nothing'}")


def skill_used(assertion: Assertion, subject: Subject, _evidence: Evidence) -> UnweightedResult | Unmet:
    """Each skill in `value` (a name, or a list) was used; {name or pattern, min, max}: so many times, once without either.

    Where the provider told of none, the log of tool calls says so: a call of a skill tool, or of one that reads its SKILL.md.
    """
    names, is_same = _skills(subject)
    if names is None:
        return NO_SKILLS
    seen = f"used were {', '.join(names) or 'none'}"
    if not isinstance(assertion.value, dict):
        wanted = [skill.strip() for skill in _listed(assertion.value)]
        missing = [skill for skill in wanted if not any(is_same(used, skill) for used in names)]
        if assertion.negated:  # passes where none of them was used
            return UnweightedResult(len(missing) < len(wanted), seen)
        return UnweightedResult(not missing, f"{seen}; missing: {', '.join(missing)}" if missing else seen)
    name, pattern = assertion.value.get("name"), assertion.value.get("pattern")
    count = sum(
        (not name or is_same(used_name, str(name))) and (not pattern or _fits(used_name, str(pattern)))
        for used_name in names
    )
    low, high = _bounds(assertion.value)
    if assertion.negated:
        return UnweightedResult(count > 0, seen)
    return UnweightedResult(count >= low and (high is None or count <= high), f"{count} uses; {seen}")


def _skills(subject: Subject) -> tuple[list[str] | None, Callable[[str, str], bool]]:
    """The names of the skills that were used, None where nobody knows, and which of them are the one asked for."""
    metadata = subject.facts.get("metadata")
    calls = metadata.get("skillCalls") if isinstance(metadata, dict) else None
    if not isinstance(calls, list) and subject.tool_calls is not None and not subject.of_config:
        return skills_in(subject.tool_calls), is_named
    if metadata is None and not subject.whole_response:
        return None, eq
    used = [call for call in (calls if isinstance(calls, list) else []) if _is_use(call)]
    return [str(call["name"]) for call in used if isinstance(call, dict)], eq


def vet_skills(assertion: Assertion) -> None:
    """Refuses a `value` that names no skill, and counts under `not-`."""
    value = assertion.value
    if not isinstance(value, dict):
        if not _listed(value) or not all(skill.strip() for skill in _listed(value)):
            raise InvalidRecordError(
                f"must be a skill, a list of some, or {{name, pattern, min, max}}, not {excerpt(value)}", field="value"
            )
        return
    if not any(isinstance(value.get(key), str) and str(value[key]).strip() for key in ("name", "pattern")):
        raise InvalidRecordError("must have a name or a pattern", field="value")
    for key in ("min", "max"):
        count = value.get(key)
        if key in value and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            raise InvalidRecordError(f"{key} must be a whole number from 0", field="value")
    if assertion.negated and ("min" in value or value.get("max", 0) != 0):
        raise InvalidRecordError("under not- it counts no uses", field="value")


def _mean_log_prob(subject: Subject) -> float | None:
    log_probs = subject.facts.get("logProbs")
    numbers = [
        number for number in (log_probs if isinstance(log_probs, list) else []) if isinstance(number, int | float)
    ]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _is_use(call: JsonValue) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str) and call.get("is_error") is not True


def _listed(value: JsonValue) -> list[str]:
    held = value if isinstance(value, list) else [value]
    return [item if isinstance(item, str) else "" for item in held]


def _bounds(value: dict[str, JsonValue]) -> tuple[int, int | None]:
    low, high = value.get("min"), value.get("max")
    most = high if isinstance(high, int) else None
    return (low if isinstance(low, int) else 0 if most is not None else 1), most


def _fits(name: str, pattern: str) -> bool:
    """Returns whether the name fits a pattern in which * stands for anything and ? for one character."""
    wild = "".join(".*" if sign == "*" else "." if sign == "?" else re.escape(sign) for sign in pattern)
    return re.fullmatch(wild, name, re.IGNORECASE) is not None


TYPES: dict[str, AssertionKind] = {
    "guardrails": AssertionKind(guardrails),
    "perplexity": AssertionKind(perplexity),
    "perplexity-score": AssertionKind(perplexity_score),
    "skill-used": AssertionKind(skill_used, vet_skills),
}
