"""What is known of a judge from labels: sensitivity and specificity, alpha, corrected figures, the promised error."""

from __future__ import annotations

import importlib
import math
import random
from typing import Any

import numpy as np
import pytest

from minions_evals_mcp.stats.binary_judge import binary_judge
from minions_evals_mcp.stats.krippendorff import interval_alpha
from minions_evals_mcp.stats.prediction_powered import FEWEST_LABELS, JudgedOutput, corrected_difference, corrected_rate
from minions_evals_mcp.stats.promised_error import LabelledAnswer, fewest_labels, promised_error, upper_limit
from tests.bench.licences import (
    BAD_JUDGES,
    Judge,
    covered,
    difference_interval,
    kappa_interval,
    licensed,
    promise_kept,
    rate_interval,
    simulated_answers,
)


def test_sensitivity_is_of_what_people_pass_and_specificity_of_what_they_fail() -> None:
    people = [True] * 10 + [False] * 20
    judge = [True] * 9 + [False] + [False] * 15 + [True] * 5
    found = binary_judge(people, judge)
    assert found.sensitivity is not None
    assert found.specificity is not None
    assert (found.sensitivity.hits, found.sensitivity.of, found.specificity.hits, found.specificity.of) == (
        9,
        10,
        15,
        20,
    )
    assert found.youden == pytest.approx(0.65)
    assert found.youden_interval[0] < 0.5
    assert found.youden_interval[1] > 0.8


def test_a_judge_of_outputs_that_people_all_pass_shows_no_specificity() -> None:
    found = binary_judge([True] * 5, [True] * 5)
    assert (found.specificity, found.youden, found.youden_interval) == (None, None, (-1, 1))


def test_alpha_is_the_published_package_s_with_ratings_missing() -> None:
    package: Any = importlib.import_module("krippendorff")
    order = random.Random(4)  # noqa: S311  ratings of a test
    table = [[order.choice([1.0, 2.0, 3.0, 5.0, float("nan")]) for _ in range(30)] for _ in range(4)]
    units = [[rater[unit] for rater in table if not math.isnan(rater[unit])] for unit in range(30)]
    theirs = float(package.alpha(reliability_data=np.array(table), level_of_measurement="interval"))
    assert interval_alpha(units) == pytest.approx(theirs)
    flags = [[rating if math.isnan(rating) else float(rating > 2) for rating in rater] for rater in table]
    units = [[rater[unit] for rater in flags if not math.isnan(rater[unit])] for unit in range(30)]
    theirs = float(package.alpha(reliability_data=np.array(flags), level_of_measurement="nominal"))
    assert interval_alpha(units) == pytest.approx(theirs)


def test_one_rater_alone_or_raters_who_never_vary_have_no_alpha() -> None:
    assert interval_alpha([[1.0], [0.0]]) is None
    assert interval_alpha([[1.0, 1.0], [1.0, 1.0]]) is None


USUAL = Judge(0.9, 0.7)


def outputs(size: int, labels: int, *, seed: int = 3, judge: Judge = USUAL, rate: float = 0.5) -> list[JudgedOutput]:
    draw = np.random.default_rng(seed)
    truth = draw.random(size) < rate
    said = judge.says(truth, draw.random(size))
    return [
        JudgedOutput(str(n), float(said[n]), float(truth[n]) if n < labels else None, labels / size)
        for n in range(size)
    ]


@pytest.mark.parametrize(
    ("seed", "value", "low", "high"),
    [
        (3, 0.44847342, 0.35709878, 0.53984806),
        (4, 0.45574596, 0.3736092, 0.53788272),
        (5, 0.48791978, 0.3981827, 0.57765686),
    ],
)
def test_a_corrected_rate_is_that_of_the_published_package(seed: int, value: float, low: float, high: float) -> None:
    # ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3, which cannot be installed here: it brings a package `tests`
    found = corrected_rate(outputs(500, 80, seed=seed))
    assert found is not None
    assert found.value == pytest.approx(value, abs=1e-4)
    assert found.interval == pytest.approx((low, high), abs=0.003)


def test_labels_move_a_lenient_judge_s_rate_towards_what_people_say() -> None:
    found = corrected_rate(outputs(2000, 200, judge=Judge(1.0, 0.4)))
    assert found is not None
    assert found.raw == pytest.approx(0.8, abs=0.05)
    assert found.value == pytest.approx(0.5, abs=0.08)
    assert (found.labels, found.outputs) == (200, 2000)


def test_outputs_that_were_drawn_rarely_count_for_those_that_were_not_drawn() -> None:
    draw = np.random.default_rng(9)
    truth = draw.random(4000) < np.where(np.arange(4000) < 2000, 0.9, 0.1)
    chance = np.where(np.arange(4000) < 2000, 0.2, 0.02)
    drawn = draw.random(4000) < chance
    given = [JudgedOutput(str(n), 0.5, float(truth[n]) if drawn[n] else None, float(chance[n])) for n in range(4000)]
    found = corrected_rate(given)
    assert found is not None
    assert found.interval[0] < 0.5 < found.interval[1]
    equal = corrected_rate([JudgedOutput(one.unit, one.judge, one.person) for one in given])
    assert equal is not None
    assert equal.interval[0] > 0.6


def test_a_judge_that_says_the_same_of_all_is_worth_nothing_and_people_decide_alone() -> None:
    found = corrected_rate([JudgedOutput(str(n), 1.0, float(n % 2) if n < 40 else None) for n in range(100)])
    assert found is not None
    assert (found.worth, found.value, found.raw) == (0, 0.5, 1)


def test_too_few_labels_correct_nothing() -> None:
    assert corrected_rate(outputs(100, FEWEST_LABELS - 1)) is None
    assert corrected_difference(outputs(100, FEWEST_LABELS - 1), outputs(100, 50)) is None
    assert corrected_rate(outputs(100, FEWEST_LABELS)) is not None


def test_labels_without_any_disagreement_are_no_certainty() -> None:
    found = corrected_rate(outputs(5000, 30, judge=Judge(1.0, 1.0)))
    assert found is not None
    assert found.interval[1] - found.interval[0] > 0.05


def test_a_corrected_difference_pairs_the_cases() -> None:
    given = outputs(400, 60)
    same = corrected_difference(given, given)
    assert same is not None
    assert same.value == 0
    apart = corrected_difference(given, [JudgedOutput(f"other{one.unit}", one.judge, one.person) for one in given])
    assert apart is not None
    assert apart.interval[1] > 2 * same.interval[1]


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    draw = np.random.default_rng(20261122)
    judge = Judge(0.9, 0.85)
    one = covered(150, judge.kappa(0.9), lambda: kappa_interval(draw, judge, outputs=20, criteria=1, prevalence=0.9))
    ten = covered(80, judge.kappa(0.5), lambda: kappa_interval(draw, judge, outputs=50, criteria=10, prevalence=0.5))
    rate = covered(150, 0.3, lambda: rate_interval(draw, judge, outputs=300, labels=60, prevalence=0.3))
    apart = covered(
        150, 0.2, lambda: difference_interval(draw, Judge(0.7, 0.7), rates=(0.4, 0.6), outputs=200, labels=60)
    )
    assert min(one.share, ten.share, rate.share, apart.share) >= 0.9
    assert max(one.width, ten.width, rate.width, apart.width) < 1.2


def test_a_promise_is_rarely_broken_and_granted_to_a_panel_that_deserves_it() -> None:
    draw = np.random.default_rng(7)
    good = promise_kept(draw, simulated_answers(draw, 2000, wrong_when_sure=0.02), labels=100, splits=40)
    bad = promise_kept(draw, simulated_answers(draw, 2000, wrong_when_sure=0.15), labels=100, splits=40)
    assert good.broken <= 8
    assert (good.granted >= 30, bad.granted <= 8) == (True, True)
    assert good.answered >= 0.7


def test_bad_judges_get_no_licence_and_a_good_one_does() -> None:
    assert licensed(Judge(0.9, 0.9), 0.5, seeds=30) >= 0.9
    assert [licensed(judge, 0.6, seeds=20) for judge in BAD_JUDGES.values()] == [0, 0, 0, 0]


def test_fewer_answers_than_could_certify_anything_are_not_asked() -> None:
    assert fewest_labels(0.1) == 22
    found = promised_error([LabelledAnswer(0.9, wrong=False)] * 21, error=0.1)
    assert (found.threshold, found.needed) == (None, 22)
    assert promised_error([LabelledAnswer(0.9, wrong=False)] * 22, error=0.1).threshold == 0.5


def test_testing_stops_at_the_first_threshold_that_fails() -> None:
    sure = [LabelledAnswer(1.0, wrong=False)] * 40
    found = promised_error(
        [*sure, *[LabelledAnswer(0.8, wrong=True)] * 20, *[LabelledAnswer(0.5, wrong=False)] * 500], error=0.1
    )
    assert (found.threshold, found.labels, found.wrong) == (0.85, 40, 0)
    refused = promised_error([LabelledAnswer(1.0, wrong=n % 3 == 0) for n in range(60)], error=0.1)
    assert (refused.threshold, refused.labels, refused.wrong) == (None, 60, 20)
    assert refused.bound > 0.1


def test_the_upper_limit_is_clopper_and_pearson_s() -> None:
    proportion: Any = importlib.import_module("statsmodels.stats.proportion")
    for wrong, answered in ((0, 30), (3, 40), (39, 40)):
        _, high = proportion.proportion_confint(wrong, answered, alpha=0.2, method="beta")
        assert upper_limit(wrong, answered, 0.1) == pytest.approx(high)
    assert upper_limit(5, 5, 0.1) == 1


def test_an_error_that_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        promised_error([], error=1.0)
