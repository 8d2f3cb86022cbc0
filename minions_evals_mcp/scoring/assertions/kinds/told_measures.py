"""`perplexity`, `perplexity-score`, `skill-used`: checks of what a provider told beside its output.

`logProbs` (a list of numbers) are the logarithms of the tokens' probabilities; `metadata.skillCalls` the skills that an
agent used. Where promptfoo 0.123.1 and we differ: an output without the former is no verdict, there the test is an error;
an output whose provider told nothing at all is no verdict for `skill-used`, there no skill was used.
"""

from __future__ import annotations

import math
import re

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.checks import Evidence, Subject, Unmet
from minions_evals_mcp.scoring.values import Found, shown

NO_LOG_PROBS = Unmet("the provider told no logarithms of probabilities (logProbs)")


def perplexity(assertion: Assertion, subject: Subject, _evidence: Evidence) -> Found | Unmet:
    """The perplexity, e to the minus of the mean log probability, is at most `threshold`; without one any passes."""
    mean = _mean_log_prob(subject)
    if mean is None:
        return NO_LOG_PROBS
    found, limit = math.exp(-mean), assertion.threshold
    told = f"perplexity {found:.2f}" + ("" if limit is None else f", at most {limit:g}")
    if limit is None:
        return Found(not assertion.negated, told, 1.0, 1.0)
    return Found(found <= limit, told)


def perplexity_score(assertion: Assertion, subject: Subject, _evidence: Evidence) -> Found | Unmet:
    """1 / (1 + perplexity) reaches `threshold`; without one any passes. That is the score."""
    mean = _mean_log_prob(subject)
    if mean is None:
        return NO_LOG_PROBS
    score, limit = 1 / (1 + math.exp(-mean)), assertion.threshold
    told = f"1 / (1 + perplexity) is {score:.3f}" + ("" if limit is None else f", at least {limit:g}")
    return Found(not assertion.negated if limit is None else score >= limit, told, score)


def guardrails(_assertion: Assertion, subject: Subject, _evidence: Evidence) -> Found | Unmet:
    """The provider's safety checks flagged nothing; of one that told of none, nothing was flagged."""
    answer = subject.told.get("providerResponse")
    told = answer.get("guardrails") if isinstance(answer, dict) else None
    if told is None and not subject.whole_response:
        return Unmet("the provider told no guardrails")
    flagged = isinstance(told, dict) and bool(told.get("flagged"))
    return Found(not flagged, f"the provider's safety checks flagged {'it' if flagged else 'nothing'}")


def skill_used(assertion: Assertion, subject: Subject, _evidence: Evidence) -> Found | Unmet:
    """Each skill in `value` (a name, or a list) was used; {name or pattern, min, max}: so many times, once without either."""
    metadata = subject.told.get("metadata")
    if metadata is None and not subject.whole_response:
        return Unmet("the provider told no metadata with skillCalls")
    told = metadata.get("skillCalls") if isinstance(metadata, dict) else None
    used = [one for one in (told if isinstance(told, list) else []) if _is_use(one)]
    names = [str(one["name"]) for one in used if isinstance(one, dict)]
    seen = f"used were {', '.join(names) or 'none'}"
    if not isinstance(assertion.value, dict):
        wanted = [one.strip() for one in _listed(assertion.value)]
        missing = [one for one in wanted if one not in names]
        if assertion.negated:  # passes where none of them was used
            return Found(len(missing) < len(wanted), seen)
        return Found(not missing, f"{seen}; missing: {', '.join(missing)}" if missing else seen)
    name, pattern = assertion.value.get("name"), assertion.value.get("pattern")
    count = sum((not name or one == name) and (not pattern or _fits(one, str(pattern))) for one in names)
    low, high = _bounds(assertion.value)
    if assertion.negated:
        return Found(count > 0, seen)
    return Found(count >= low and (high is None or count <= high), f"{count} uses; {seen}")


def vet_skills(assertion: Assertion) -> None:
    """Refuses a `value` that names no skill, and counts under `not-`."""
    value = assertion.value
    if not isinstance(value, dict):
        if not _listed(value) or not all(one.strip() for one in _listed(value)):
            raise InvalidRecordError(
                f"must be a skill, a list of some, or {{name, pattern, min, max}}, not {shown(value)}", field="value"
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
    told = subject.told.get("logProbs")
    numbers = [one for one in (told if isinstance(told, list) else []) if isinstance(one, int | float)]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _is_use(call: JsonValue) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str) and call.get("is_error") is not True


def _listed(value: JsonValue) -> list[str]:
    held = value if isinstance(value, list) else [value]
    return [one if isinstance(one, str) else "" for one in held]


def _bounds(value: dict[str, JsonValue]) -> tuple[int, int | None]:
    low, high = value.get("min"), value.get("max")
    most = high if isinstance(high, int) else None
    return (low if isinstance(low, int) else 0 if most is not None else 1), most


def _fits(name: str, pattern: str) -> bool:
    """Whether the name fits a pattern in which * stands for anything and ? for one character."""
    wild = "".join(".*" if one == "*" else "." if one == "?" else re.escape(one) for one in pattern)
    return re.fullmatch(wild, name, re.IGNORECASE) is not None
