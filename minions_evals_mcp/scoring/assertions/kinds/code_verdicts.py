"""The verdicts of a user's code, as a verdict: a Boolean, a number, or {pass, score, reason} with metrics and parts."""

from __future__ import annotations

import json

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.domain.values import Json
from minions_evals_mcp.scoring.checks import Checked, Language, Unmet
from minions_evals_mcp.scoring.values import UnweightedResult, excerpt

SLACK = 1e-9


class NoVerdict(Unmet):
    """The reason why code's answer is no verdict."""


def verdict_of(assertion: Assertion, value: JsonValue, language: Language) -> UnweightedResult | Unmet:
    """The verdict that the code gave."""
    if language == "python" and isinstance(value, str):
        value = _written(value)
    match value:
        case bool():
            return UnweightedResult(passed=value, reason=f"the code returned {str(value).lower()}")
        case int() | float():
            limit = assertion.threshold
            passed = value > 0 if limit is None else value >= limit - SLACK
            reason = f"the code returned {value:g}" + ("" if limit is None else f", threshold {limit:g}")
            return UnweightedResult(passed, reason, float(value), float(value))
        case {"pass": bool()} | {"pass_": bool()}:
            return _graded(assertion, value, language)
        case _:
            return NoVerdict(
                f"the code must return a Boolean, a number or {{pass, score, reason}}, not {excerpt(value)}"
            )


def _graded(assertion: Assertion, given: dict[str, JsonValue], language: Language) -> UnweightedResult | Unmet:
    given = {"pass": given["pass_"], **given} if "pass_" in given else given
    lacking = [name for name in ("pass", "score", "reason") if name not in given]
    if lacking:
        return NoVerdict(f"the code must return {{pass, score, reason}}; {' and '.join(lacking)} is missing")
    passed, score = bool(given["pass"]), given["score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        return NoVerdict(f"the code must return a number as the score, not {excerpt(score)}")
    if not isinstance(given["reason"], str):
        return NoVerdict(f"the code must return a text as the reason, not {excerpt(given['reason'])}")
    reason = str(given["reason"] or f"the code returned {'pass' if passed else 'fail'}")
    limit = assertion.threshold
    if language == "python" and limit is not None and score < limit - SLACK:
        passed, reason = False, f"score {score:g} is below the threshold {limit:g}: {reason}"
    try:
        return UnweightedResult(
            passed, reason, float(score), float(score), _parts(assertion, given, language), _named(given, language)
        )
    except _NoFigureError as error:
        return Unmet(str(error))


class _NoFigureError(Exception):
    """The error of a figure beside code's verdict that does not fit."""


def _value(given: Json, name: str, plain: str, language: Language) -> JsonValue:
    """Returns what the code gave under that name; Python may write it with underscores."""
    return given.get(name, given.get(plain) if language == "python" else None)


def _named(given: Json, language: Language) -> tuple[MetricScore, ...]:
    """The metrics that the code gave, each with its weight."""
    scores = _value(given, "namedScores", "named_scores", language) or {}
    weights = _value(given, "namedScoreWeights", "named_score_weights", language) or {}
    if not isinstance(scores, dict) or not isinstance(weights, dict):
        raise _NoFigureError(f"the code must return namedScores as {{name: number}}, not {excerpt(scores)}")
    return tuple(MetricScore(name, _figure(score), _figure(weights.get(name, 1.0))) for name, score in scores.items())


def _figure(value: JsonValue) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _NoFigureError(f"the code must return numbers as namedScores, not {excerpt(value)}")
    return float(value)


def _parts(assertion: Assertion, given: Json, language: Language) -> tuple[Checked, ...]:
    """The verdicts that the code's own is made of, as it tells them; they bear the name of its metric."""
    parts = _value(given, "componentResults", "component_results", language)
    return tuple(
        Checked(
            language,
            passed,
            _figure(part.get("score", float(passed))),
            str(part.get("reason", "")),
            metric=assertion.metric,
        )
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and isinstance(passed := part.get("pass"), bool)
    )


def _written(text: str) -> JsonValue:
    """Returns what a text that Python gave stands for: true, false, a number or an object; else the text."""
    plain = text.strip()
    try:
        verdict: JsonValue = json.loads(plain.lower() if plain.lower() in {"true", "false"} else plain)
    except (ValueError, RecursionError):
        return text
    return text if isinstance(verdict, str | list) or verdict is None else verdict
