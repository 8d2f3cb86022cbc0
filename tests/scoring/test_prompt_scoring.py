"""What single scores add up to, which version wins, and what a score means."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minions_evals_mcp.errors import BadInputError, InstrumentError
from minions_evals_mcp.scoring.prompt_scoring import (
    ComparisonResult,
    TestResult,
    TestSuiteResult,
    average_score,
    band,
    case_result,
    comparison,
    given_score,
    is_meaningful_improvement,
    rated_score,
    suite_result,
    vetted_tie_threshold,
    winner,
)

AT = datetime(2026, 11, 21, 9, tzinfo=UTC)
HUNDREDTHS = st.integers(0, 100)


def result(score: float, max_score: float = 1.0, ident: str = "c") -> TestResult:
    return case_result(test_case_id=ident, prompt_id="p", response="r", score=score, max_score=max_score, at=AT)


def suite(*scores: tuple[float, float], prompt_id: str = "p") -> TestSuiteResult:
    return suite_result(prompt_id, [result(score, best) for score, best in scores], at=AT)


def test_a_result_has_the_fields_of_the_seed_and_no_others() -> None:
    assert result(1).model_dump(mode="json") == {
        "testCaseId": "c", "promptId": "p", "response": "r", "score": 1.0, "maxScore": 1.0, "passed": True,
        "evaluatedAt": "2026-11-21T09:00:00Z",
    }  # fmt: skip


def test_a_suite_has_the_fields_of_the_seed_and_no_others() -> None:
    found = suite((1, 1), (0, 3)).model_dump(mode="json")
    assert {key: value for key, value in found.items() if key != "results"} == {
        "promptId": "p", "totalCount": 2, "passedCount": 1, "failedCount": 1, "averageScore": 0.25,
        "ranAt": "2026-11-21T09:00:00Z",
    }  # fmt: skip
    assert [one["score"] for one in found["results"]] == [1, 0]


def test_a_comparison_has_the_fields_of_the_seed_and_both_suites_in_full() -> None:
    a, b = suite((0, 1), prompt_id="a"), suite((1, 1), prompt_id="b")
    found = comparison(a, b, tie_threshold=0.01).model_dump(mode="json")
    assert found == {
        "promptIdA": "a", "promptIdB": "b", "suiteA": a.model_dump(mode="json"), "suiteB": b.model_dump(mode="json"),
        "scoreDelta": 1.0, "winner": "B", "tieThreshold": 0.01,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [TestResult, TestSuiteResult, ComparisonResult])
def test_results_are_frozen_and_are_not_taken_for_tests(kind: type) -> None:
    assert kind.model_config["frozen"]
    assert kind.__test__ is False


@pytest.mark.parametrize("value", [0, 2, 0.5, np.float32(0.5), np.int64(2), Fraction(1, 3)])
def test_a_number_within_the_range_is_the_score(value: float) -> None:
    found = given_score(value, 2, test_case_id="c")
    assert found == float(value)
    assert type(found) is float


@pytest.mark.parametrize(
    "value",
    [-0.001, 2.001, math.nan, math.inf, -math.inf, True, False, "1", None, [1], 10**400, 1j, np.True_, "x" * 999],
)
def test_anything_else_is_an_error_that_names_the_case_and_the_range(value: object) -> None:
    with pytest.raises(InstrumentError, match=r"test case 'c1'.*must be in the range 0–2") as refused:
        given_score(value, 2, test_case_id="c1")
    assert len(str(refused.value)) < 200


def test_nearly_all_of_the_score_is_no_pass() -> None:
    assert result(2, 2).passed
    assert not result(1.9, 2).passed
    assert not result(math.nextafter(2, 0), 2).passed


def test_the_average_is_that_of_the_points_not_of_the_cases() -> None:
    found = suite((1, 1), (0, 4))
    assert found.average_score == 0.2
    assert average_score([1, 1, 0.5], [1, 3, 1], prompt_id="p") == 0.5


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1e-6, 1e6)), min_size=1, max_size=20))
def test_for_all_suites_the_average_is_the_exact_ratio_and_the_counts_add_up(
    shares: list[tuple[float, float]],
) -> None:
    found = suite(*((min(share * best, best), best) for share, best in shares))
    exact = sum(Fraction(one.score) for one in found.results) / sum(Fraction(one.max_score) for one in found.results)
    assert math.isclose(found.average_score, exact, rel_tol=1e-12)
    assert 0 <= found.average_score <= 1
    assert found.total_count == found.passed_count + found.failed_count == len(shares)
    assert found.failed_count or found.average_score == 1


def test_no_cases_and_nothing_to_score_are_errors_not_zero() -> None:
    with pytest.raises(BadInputError, match="'p' has no test cases"):
        suite()
    with pytest.raises(BadInputError, match="'p' has maxScore 0"):
        suite((0, 0), (0, 0))
    with pytest.raises(BadInputError, match="too large to add up"):
        suite((0, 1.7e308), (0, 1.7e308))
    assert suite((0, 0), (1, 1)).average_score == 1


@pytest.mark.parametrize(
    ("delta", "threshold", "expected"),
    [
        (0.0, 0.01, "tie"),
        (0.0099, 0.01, "tie"),
        (-0.0099, 0.01, "tie"),
        (0.01, 0.01, "B"),
        (-0.01, 0.01, "A"),
        (0.06 - 0.05, 0.01, "B"),
        (0.05 - 0.06, 0.01, "A"),
        (0.049, 0.05, "tie"),
        (0.05, 0.05, "B"),
        (0.0, 1e-300, "tie"),
        (1e-300, 0.0, "B"),
        (0.0, 0.0, "A"),
        (0.99, 1.0, "tie"),
    ],
)
def test_a_tie_lies_strictly_below_the_threshold(delta: float, threshold: float, expected: str) -> None:
    assert winner(delta, threshold) == expected


@given(HUNDREDTHS, HUNDREDTHS, st.integers(1, 100))
def test_for_all_hundredths_the_winner_is_that_of_exact_arithmetic(a: int, b: int, threshold: int) -> None:
    found = comparison(suite((a, 100), prompt_id="a"), suite((b, 100), prompt_id="b"), tie_threshold=threshold / 100)
    assert found.score_delta == b / 100 - a / 100
    expected = "tie" if abs(b - a) < threshold else "B" if b > a else "A"
    assert found.winner == expected


@given(st.floats(-1, 1), st.floats(0.001, 1))
def test_for_all_deltas_swapping_the_versions_swaps_the_winner(delta: float, threshold: float) -> None:
    swapped = {"A": "B", "B": "A", "tie": "tie"}
    assert winner(-delta, threshold) == swapped[winner(delta, threshold)]


@pytest.mark.parametrize("value", [0, 1, 0.05, 1.0])
def test_a_threshold_from_0_to_1_is_taken(value: float) -> None:
    assert vetted_tie_threshold(value) == value


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, True, "0.05", None])
def test_any_other_threshold_is_refused(value: object) -> None:
    with pytest.raises(BadInputError, match="from 0 to 1"):
        vetted_tie_threshold(value)


@pytest.mark.parametrize(
    ("average", "words"),
    [
        (1.0, "Production-ready for this test dimension"),
        (0.9, "Production-ready for this test dimension"),
        (3 * 0.3, "Production-ready for this test dimension"),
        (0.895, "Good; add edge-case tests and iterate"),
        (0.7, "Good; add edge-case tests and iterate"),
        (0.8 - 0.1, "Good; add edge-case tests and iterate"),
        (0.699, "Marginal; the prompt needs revision"),
        (0.5, "Marginal; the prompt needs revision"),
        (0.499, "The prompt does not meet the defined quality bar"),
        (0.0, "The prompt does not meet the defined quality bar"),
    ],
)
def test_an_average_is_read_by_its_band(average: float, words: str) -> None:
    assert band(average) == words
    assert suite((average, 1)).band == words


@pytest.mark.parametrize(
    ("before", "after", "meaningful"), [(0.7, 0.8, True), (0.5, 0.6, True), (0.5, 0.599, False), (0.8, 0.7, False)]
)
def test_a_tenth_more_is_a_meaningful_improvement(before: float, after: float, meaningful: bool) -> None:
    assert is_meaningful_improvement(after - before) is meaningful
    found = comparison(suite((before, 1)), suite((after, 1)), tie_threshold=0.01)
    assert found.is_meaningful_improvement is meaningful


@pytest.mark.parametrize(("rating", "score"), [(1, 0), (2, 0.5), (3, 1), (4, 1.5), (5, 2), (4.5, 1.75)])
def test_a_rating_from_1_to_5_becomes_a_share_of_the_score(rating: float, score: float) -> None:
    assert rated_score(rating, 2) == score


@given(st.floats(0, 1e300))
def test_the_best_rating_is_the_whole_score_and_the_worst_none_of_it(max_score: float) -> None:
    assert rated_score(5, max_score) == max_score
    assert rated_score(1, max_score) == 0
