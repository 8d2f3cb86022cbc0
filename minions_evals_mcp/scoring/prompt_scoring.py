"""Prompt scoring: what single cases add up to, which version wins, and what a score means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from numbers import Real
from typing import Literal, cast

from minions_evals_mcp.domain.values import Count, Timestamp, Value
from minions_evals_mcp.errors import BadInputError, InstrumentError

Winner = Literal["A", "B", "tie"]

TIE_THRESHOLD = 0.01
MEANINGFUL = 0.10
SLACK = 1e-9
"""0.8 − 0.7 is less than 0.1 in floats: a limit that is met but for rounding is met."""

BANDS: tuple[tuple[float, str], ...] = (
    (0.90, "Production-ready for this test dimension"),
    (0.70, "Good; add edge-case tests and iterate"),
    (0.50, "Marginal; the prompt needs revision"),
)
NO_BAND = "The prompt does not meet the defined quality bar"


class TestResult(Value):
    """One case under one prompt: `score` is 0 to `max_score`, `passed` says that it is the whole of it."""

    __test__ = False

    test_case_id: str
    prompt_id: str
    response: str
    score: float
    max_score: float
    passed: bool
    evaluated_at: Timestamp


class TestSuiteResult(Value):
    """All cases of one prompt, in the order of the cases; `average_score` is Σ score / Σ maxScore, 0–1."""

    __test__ = False

    prompt_id: str
    results: tuple[TestResult, ...]
    total_count: Count
    passed_count: Count
    failed_count: Count
    average_score: float
    ran_at: Timestamp

    @property
    def band(self) -> str:
        """Returns what the average score means, in the documented words."""
        return band(self.average_score)


class ComparisonResult(Value):
    """Two versions on the same cases; `score_delta` is B's average score minus A's."""

    __test__ = False

    prompt_id_a: str
    prompt_id_b: str
    suite_a: TestSuiteResult
    suite_b: TestSuiteResult
    score_delta: float
    winner: Winner
    tie_threshold: float

    @property
    def is_meaningful_improvement(self) -> bool:
        """Returns whether B beats A by at least 0.10."""
        return is_meaningful_improvement(self.score_delta)


def case_result(
    *, test_case_id: str, prompt_id: str, response: str, score: float, max_score: float, at: datetime
) -> TestResult:
    """The result of one case: it passed where it has the whole of its score, not nearly."""
    return TestResult(
        test_case_id=test_case_id,
        prompt_id=prompt_id,
        response=response,
        score=score,
        max_score=max_score,
        passed=score == max_score,
        evaluated_at=at,
    )


def given_score(value: object, max_score: float, *, test_case_id: str) -> float:
    """The score that an evaluator gave; raises `InstrumentError` for anything but a number from 0 to `max_score`."""
    number = cast("float", value)  # numpy's numbers are `Real`, and need not be floats
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= number <= max_score:
        raise InstrumentError(
            f"test case {test_case_id!r}: the evaluator returned {_excerpt(value)}; a score must be in the range "
            f"0–{max_score:g}."
        )
    return float(number)


def _excerpt(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def possible_total(max_scores: Iterable[float], *, prompt_id: str) -> float:
    """Σ maxScore; raises `BadInputError` where there is no case, or nothing to be had: an average would mean nothing."""
    scores = tuple(max_scores)
    if not scores:
        raise BadInputError(
            f"the prompt {prompt_id!r} has no test cases.", remedy="Set their promptId or promptVersionRef."
        )
    try:
        total = math.fsum(scores)
    except OverflowError:
        raise BadInputError(
            f"the maxScores of the prompt {prompt_id!r}'s test cases are too large to add up."
        ) from None
    if total == 0:
        raise BadInputError(f"every test case of the prompt {prompt_id!r} has maxScore 0: there is nothing to score.")
    return total


def average_score(scores: Iterable[float], max_scores: Iterable[float], *, prompt_id: str) -> float:
    """Σ score / Σ maxScore, 0–1; cases weigh by their maxScore."""
    possible = possible_total(max_scores, prompt_id=prompt_id)
    return math.fsum(scores) / possible


def suite_result(prompt_id: str, results: Sequence[TestResult], *, at: datetime) -> TestSuiteResult:
    """Returns what the results of a prompt's cases add up to."""
    passed = sum(result.passed for result in results)
    return TestSuiteResult(
        prompt_id=prompt_id,
        results=tuple(results),
        total_count=len(results),
        passed_count=passed,
        failed_count=len(results) - passed,
        average_score=average_score(
            (result.score for result in results), (result.max_score for result in results), prompt_id=prompt_id
        ),
        ran_at=at,
    )


def comparison(a: TestSuiteResult, b: TestSuiteResult, *, tie_threshold: float) -> ComparisonResult:
    """B against A."""
    delta = b.average_score - a.average_score
    return ComparisonResult(
        prompt_id_a=a.prompt_id,
        prompt_id_b=b.prompt_id,
        suite_a=a,
        suite_b=b,
        score_delta=delta,
        winner=winner(delta, tie_threshold),
        tie_threshold=tie_threshold,
    )


def vetted_tie_threshold(value: object) -> float:
    """The threshold; raises `BadInputError` for anything but a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadInputError(f"the tie threshold is a number from 0 to 1, not {_excerpt(value)}.")
    return float(value)


def winner(delta: float, tie_threshold: float) -> Winner:
    """The documented rule: a tie strictly below the threshold, so with threshold 0 there is none, and A keeps an even match."""
    size = abs(delta)
    if size < tie_threshold and not math.isclose(size, tie_threshold, rel_tol=SLACK):
        return "tie"
    return "B" if delta > 0 else "A"


def band(average: float) -> str:
    """Returns what an average score (0–1) means, in the documented words; a band begins at its lower limit."""
    return next((words for least, words in BANDS if average >= least - SLACK), NO_BAND)


def is_meaningful_improvement(delta: float) -> bool:
    """Returns whether a score difference is at least +0.10."""
    return delta >= MEANINGFUL - SLACK


def rated_score(rating: float, max_score: float) -> float:
    """The score that a rating from 1 to 5 stands for: maxScore · (rating − 1) / 4."""
    return max_score * ((rating - 1) / 4)
