"""The verdict on two versions: by passes, by scores, with trials, and at every edge."""

from __future__ import annotations

import importlib
import math
import random
import re
from dataclasses import astuple, replace
from statistics import NormalDist
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.engine.conclude.attempts import Attempt
from minions_evals_mcp.engine.conclude.decision import decided, measured
from minions_evals_mcp.stats.attempts import BUDGET, attempt_level
from minions_evals_mcp.stats.comparison import CasePair, Difference, compare, holm, why_undecided
from minions_evals_mcp.stats.paired import mcnemar_exact
from minions_evals_mcp.stats.sign_flip import sign_flip
from minions_evals_mcp.stats.tango import tango_interval


def passed(case_id: str, a: str, b: str) -> CasePair:
    """A case whose trials passed (+) or failed (-), scored 1 or 0."""
    passed_a, passed_b = tuple(sign == "+" for sign in a), tuple(sign == "+" for sign in b)
    return CasePair(case_id, tuple(map(float, passed_a)), tuple(map(float, passed_b)), passed_a, passed_b)


def passes(gained: int, lost: int, both: int, neither: int = 0) -> list[CasePair]:
    kinds = [("-", "+")] * gained + [("+", "-")] * lost + [("+", "+")] * both + [("-", "-")] * neither
    return [passed(f"case {number:03d}", a, b) for number, (a, b) in enumerate(kinds)]


def scored(*cases: tuple[float, float]) -> list[CasePair]:
    return [CasePair(f"{n:03d}", (a,), (b,), (a >= 0.5,), (b >= 0.5,)) for n, (a, b) in enumerate(cases)]


def drawn(cases: int, *, trials: int = 1, rise: float = 0.0, spread: float = 0.1) -> list[CasePair]:
    draw = random.Random(cases * 31 + trials)  # noqa: S311  a simulation, no secret
    pairs: list[CasePair] = []
    for number in range(cases):
        a = tuple(min(1.0, max(0.0, draw.gauss(0.5, spread))) for _ in range(trials))
        b = tuple(min(1.0, max(0.0, draw.gauss(0.5 + rise, spread))) for _ in range(trials))
        pairs.append(CasePair(f"{number:03d}", a, b, tuple(x >= 0.5 for x in a), tuple(x >= 0.5 for x in b)))
    return pairs


def swapped(pairs: list[CasePair]) -> list[CasePair]:
    return [replace(pair, a=pair.b, b=pair.a, passed_a=pair.passed_b, passed_b=pair.passed_a) for pair in pairs]


def test_passes_tried_once_go_by_mcnemar_and_tango() -> None:
    found = compare(passes(gained=9, lost=1, both=10))
    assert (found.method, found.verdict, found.cases, found.trials) == ("mcnemar+tango", "improved", 20, 1)
    assert found.delta == pytest.approx(0.4)
    assert found.p_value == mcnemar_exact(9, 1)
    assert found.interval == pytest.approx(tango_interval(9, 1, 20), abs=1e-12)
    assert (found.passes.b, found.passes.c, found.better, found.worse) == (9, 1, 9, 1)
    assert (found.passes.p_value, found.passes.interval) == (found.p_value, found.interval)
    assert (found.caution, found.settle) == ("", "")


def test_a_lost_majority_is_a_regression() -> None:
    assert compare(passes(gained=1, lost=9, both=10)).verdict == "regressed"


def test_scores_go_by_sign_flip_and_their_passes_still_by_mcnemar() -> None:
    pairs = drawn(12, rise=0.2)
    found = compare(pairs)
    differences = [pair.b[0] - pair.a[0] for pair in pairs]
    expected = sign_flip(differences, [1.0] * 12)
    assert (found.method, found.verdict) == ("sign-flip", "improved")
    assert found.delta == pytest.approx(sum(differences) / 12, abs=1e-9)
    assert (found.p_value, found.interval) == (expected.p_value, pytest.approx(expected.interval, abs=1e-9))
    assert found.passes.method == "mcnemar+tango"
    assert found.passes.p_value == mcnemar_exact(found.passes.b, found.passes.c)


def test_trials_are_averaged_within_their_case_first() -> None:
    pairs = [passed(f"{n}", "+--" if n % 2 else "---", "++-") for n in range(10)]
    found = compare(pairs)
    expected = sign_flip([1 / 3 if n % 2 else 2 / 3 for n in range(10)], [1.0] * 10)
    assert (found.method, found.passes.method, found.trials) == ("sign-flip", "sign-flip", 3)
    assert (found.delta, found.p_value) == (pytest.approx(0.5), expected.p_value)
    assert (found.passes.b, found.passes.c, found.passes.delta) == (10, 0, pytest.approx(0.5))


def test_the_trials_of_a_case_may_differ_in_number() -> None:
    pairs = [passed("a", "++-", "++"), passed("b", "-", "+++++"), *passes(6, 0, 2)]
    found = compare(pairs)
    assert found.trials == 1
    assert found.delta == pytest.approx((1 / 3 + 1 + 6) / 10)


def test_a_case_counts_what_it_can_score() -> None:
    pairs = [replace(pair, weight=3.0 if n < 4 else 1.0) for n, pair in enumerate(passes(4, 4, 4))]
    found = compare(pairs)
    assert found.method == "sign-flip"
    assert found.delta == pytest.approx((12 - 4) / 20)
    assert found.passes.delta == 0
    assert found.passes.method == "mcnemar+tango"


def test_equal_weights_are_no_weights() -> None:
    pairs = passes(9, 1, 10)
    assert compare([replace(pair, weight=4.0) for pair in pairs]) == compare(pairs)


def test_an_interval_within_the_margin_is_equivalent() -> None:
    found = compare(drawn(60, spread=0.02))
    assert found.verdict == "equivalent"
    assert max(map(abs, found.interval)) < 0.05
    assert compare(drawn(60, spread=0.02), margin=0.001).verdict == "inconclusive"


def test_twenty_passes_that_all_stayed_leave_open_how_the_next_case_would_change() -> None:
    once, thrice = compare(passes(0, 0, 20)), compare([passed(str(n), "+++", "+++") for n in range(20)])
    assert once.interval == pytest.approx((-0.1611, 0.1611), abs=1e-4)
    assert thrice.interval == (0, 0)
    for found in (once, thrice):
        assert (found.verdict, found.p_value) == ("inconclusive", 1)
        assert found.caution == "0 of 20 cases changed: fewer than 6 cannot be decided"
        assert "about 53 more cases, to show that the difference is within 0.05" in found.settle
    assert compare(passes(0, 0, 74)).verdict == "equivalent"
    assert compare([passed(str(n), "+++", "+++") for n in range(74)]).verdict == "equivalent"


def test_one_case_says_nothing_and_asks_for_five_more() -> None:
    for pairs in (passes(1, 0, 0), scored((0.2, 0.9)), [passed("a", "---", "+++")]):
        found = compare(pairs)
        assert (found.verdict, found.p_value, found.cases) == ("inconclusive", 1, 1)
        assert found.settle == "at least 5 more cases"
        assert found.caution == "1 of 1 cases changed: fewer than 6 cannot be decided"


def test_five_changes_in_one_direction_cannot_decide_and_six_do() -> None:
    five, six = compare(passes(5, 0, 5)), compare(passes(6, 0, 4))
    assert (five.verdict, six.verdict) == ("inconclusive", "improved")
    assert five.caution == "5 of 10 cases changed: fewer than 6 cannot be decided"


def test_zero_variance_of_a_real_difference_decides_from_six_cases() -> None:
    assert compare(scored(*[(0.2, 0.5)] * 5)).verdict == "inconclusive"
    found = compare(scored(*[(0.2, 0.5)] * 6))
    assert (found.verdict, found.interval, found.p_value) == ("improved", (0.3, 0.3), 2 / 64)


def test_what_differs_by_rounding_only_did_not_change() -> None:
    found = compare(scored(*[(0.1 + 0.2, 0.3)] * 30))
    assert (found.better, found.worse, found.p_value, found.delta) == (0, 0, 1, 0)


def test_strongly_skewed_differences_of_few_cases_are_told() -> None:
    skewed = scored(*[(0.5, 0.5 + step) for step in (0.01, 0.02, 0.0, 0.01, 0.03, 0.02, 0.01, 0.02, 0.01, 0.45)])
    assert "may cover less than it says" in compare(skewed).caution
    assert compare(drawn(50)).caution == ""


@pytest.mark.parametrize(("rise", "verdict"), [(1e-9, "equivalent"), (2e-9, "improved"), (-2e-9, "regressed")])
def test_a_difference_of_a_billionth_is_dust(rise: float, verdict: str) -> None:
    assert compare([CasePair(f"{n}", (0.5,), (0.5 + rise,), (True,), (True,)) for n in range(20)]).verdict == verdict


def test_skew_is_told_up_to_twenty_scored_cases_and_of_passes_never() -> None:
    small = [(0.5, 0.51 + step / 1000) for step in range(19)]
    assert "may cover less" in compare(scored(*small, (0.5, 0.95))).caution
    assert compare(scored(*small, (0.5, 0.53), (0.5, 0.95))).caution == ""
    by_counts = compare(passes(gained=6, lost=0, both=14))
    assert (by_counts.method, by_counts.verdict, by_counts.caution) == ("mcnemar+tango", "improved", "")


def test_a_simulated_p_value_that_another_seed_could_turn_decides_nothing_and_says_so() -> None:
    near = [pair for pair in drawn(18, spread=0.2) if pair]
    shifts = (rise / 2_000 for rise in range(-400, 400))
    found = (compare([replace(p, b=(min(1.0, max(0.0, p.b[0] + rise)),)) for p in near]) for rise in shifts)
    close = next(one for one in found if 0.047 < one.p_value <= 0.05)
    assert close.verdict == "inconclusive"
    assert "too close to 0.05" in close.caution


def test_the_level_moves_the_test_the_interval_and_the_fewest_that_decide() -> None:
    found = compare(passes(5, 0, 5), level=0.9)
    assert (found.verdict, found.interval) == ("improved", pytest.approx(tango_interval(5, 0, 10, level=0.9)))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.1, 1.1])
def test_a_score_that_is_no_fraction_is_refused_with_its_case(bad: float) -> None:
    with pytest.raises(ValueError, match="case 001 has a score"):
        compare(scored((0.1, 0.2), (0.3, bad)))


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_a_weight_that_counts_nothing_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="has a weight"):
        compare([replace(pair, weight=weight) for pair in passes(1, 1, 1)])


def test_a_version_without_a_trial_or_a_trial_without_its_pass_is_refused() -> None:
    whole = passed("a", "+", "-")
    for broken in (replace(whole, b=(), passed_b=()), replace(whole, passed_a=())):
        with pytest.raises(ValueError, match="case a needs a score and a pass for each trial"):
            compare([broken])


def test_no_pairs_and_a_case_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="nothing was measured in both"):
        compare([])
    with pytest.raises(ValueError, match="twice"):
        compare([passed("a", "+", "-"), passed("a", "+", "+")])


def test_a_margin_or_level_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(ValueError, match="margin"):
        compare(passes(1, 1, 1), margin=0)
    with pytest.raises(ValueError, match="confidence level"):
        compare(passes(1, 1, 1), level=95)


TRIALS = st.lists(st.integers(0, 10).map(lambda k: k / 10), min_size=1, max_size=3).map(tuple)
PAIRS = st.lists(st.tuples(TRIALS, TRIALS, st.sampled_from((1.0, 2.0, 5.0))), min_size=1, max_size=25).map(
    lambda cases: [
        CasePair(f"{n:02d}", a, b, tuple(x > 0.5 for x in a), tuple(x > 0.5 for x in b), weight)
        for n, (a, b, weight) in enumerate(cases)
    ]
)
MIRROR = {"improved": "regressed", "regressed": "improved", "equivalent": "equivalent", "inconclusive": "inconclusive"}


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_the_other_way_round_gives_the_mirrored_answer(pairs: list[CasePair]) -> None:
    one, other = compare(pairs), compare(swapped(pairs))
    assert (other.verdict, other.p_value) == (MIRROR[one.verdict], one.p_value)
    assert other.delta == -one.delta
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), abs=1e-9)
    assert (other.better, other.worse) == (one.worse, one.better)
    assert (other.passes.b, other.passes.c) == (one.passes.c, one.passes.b)
    assert (other.caution, other.settle) == (one.caution, one.settle)


@settings(max_examples=40, deadline=None)
@given(PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_the_cases_does_not_matter(pairs: list[CasePair], order: random.Random) -> None:
    shuffled = list(pairs)
    order.shuffle(shuffled)
    assert astuple(compare(shuffled)) == astuple(compare(pairs))


@settings(max_examples=60, deadline=None)
@given(PAIRS)
def test_a_verdict_agrees_with_what_stands_beside_it(pairs: list[CasePair]) -> None:
    found: Difference = compare(pairs)
    low, high = found.interval
    assert low - 1e-9 <= found.delta <= high + 1e-9
    assert (found.settle == "") == (found.verdict != "inconclusive")
    if found.verdict == "improved":
        assert low > 0 and found.p_value <= 0.05
    if found.verdict == "equivalent":
        assert max(-low, high) < 0.05


@settings(max_examples=40, deadline=None)
@given(PAIRS, st.data())
def test_a_better_score_of_b_never_lowers_the_difference_or_its_interval(
    pairs: list[CasePair], data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(pairs) - 1))
    raised = replace(pairs[number], b=tuple(min(1.0, x + 0.2) for x in pairs[number].b))
    before, after = compare(pairs), compare([*pairs[:number], raised, *pairs[number + 1 :]])
    if before.method == after.method:
        assert after.delta >= before.delta - 1e-12
        assert after.interval[0] >= before.interval[0] - 1e-9
        assert after.interval[1] >= before.interval[1] - 1e-9


@pytest.mark.parametrize(
    "p_values", [[0.01, 0.04, 0.03, 0.2], [0.5], [0.04, 0.04, 0.04], [0.9, 0.001, 0.8, 0.02, 0.02]]
)
def test_holms_adjustment_is_statsmodels(p_values: list[float]) -> None:
    multitest: Any = importlib.import_module("statsmodels.stats.multitest")
    assert holm(p_values) == pytest.approx(
        [float(p) for p in multitest.multipletests(p_values, method="holm")[1]], abs=1e-9
    )


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_never_lowers_a_p_value(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    assert sorted(range(len(adjusted)), key=lambda i: (p_values[i], i)) == sorted(
        range(len(adjusted)), key=lambda i: (adjusted[i], p_values[i], i)
    )


@pytest.mark.parametrize("bad", [-0.1, 1.2, math.nan])
def test_holm_refuses_what_is_no_p_value(bad: float) -> None:
    with pytest.raises(ValueError, match="p-value"):
        holm([0.1, bad])


def test_an_open_comparison_of_passes_says_how_many_cases_would_do() -> None:
    found = compare(passes(4, 1, 15))
    reach = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    needed = reach**2 * (5 - 20 * 0.15**2) / 19 / 0.15**2
    assert found.settle == f"about {math.ceil(needed - 20)} more cases"


def test_what_would_settle_it_is_reckoned_at_the_level_of_the_next_comparison() -> None:
    """Six of six changed decide nothing at .0304; the next attempt is decided at .0076, which takes nine: three more."""
    pairs = [CasePair(f"c{n}", (0.0,), (1.0,), (False,), (True,)) for n in range(6)]
    found = compare(pairs, level=1 - 0.0304, next_level=1 - 0.0076)
    assert found.verdict == "inconclusive"
    assert found.settle == "about 3 more cases (comparing again is a further attempt, decided at p <= 0.0076)"


@pytest.mark.parametrize("attempt", [1, 2, 5])
@pytest.mark.parametrize("unit", ["case", "group"])
def test_the_fewest_changes_that_are_named_are_the_fewest_that_decide(attempt: int, unit: str) -> None:
    """A fall is decided at .05 in every attempt, a gain at the attempt's own error: each names its own number."""
    level = attempt_level(attempt)
    for direction, falls in ((1.0, False), (-1.0, True)):
        fewest = changed = 0
        for changed in range(1, 20):
            moved = [(0.4, 0.4 + 0.1 * direction)] * changed + [(0.5, 0.5)] * (30 - changed)
            pairs = [
                replace(pair, group=str(number // 2) if unit == "group" else "")
                for number, pair in enumerate(scored(*(score for score in moved for _ in range(1 + (unit == "group")))))
            ]
            found = decided(pairs, None, Attempt(attempt))
            if found.verdict != "inconclusive":
                break
            named = re.search(r"fewer than (\d+) cannot be decided", found.difference.caution)
            assert named is not None
            fewest = int(named[1])
            assert changed < fewest
        assert changed == fewest
        assert (fewest == 6) is (falls or level == BUDGET)


def test_what_would_settle_a_fall_is_reckoned_at_the_level_at_which_falls_are_decided() -> None:
    """Five of five that fell need one more; five that rose need eight in all at .0076."""
    fell = [CasePair(f"c{n}", (1.0,), (0.0,), (True,), (False,)) for n in range(5)]
    at_end = "(comparing again is a further attempt, decided at p <= 0.0076"
    assert measured(fell, level=attempt_level(1), next_level=attempt_level(2)).settle == (
        f"about 1 more case {at_end}, a drop at p <= 0.05)"
    )
    rose = measured(swapped(fell), level=attempt_level(1), next_level=attempt_level(2))
    assert rose.settle == f"about 4 more cases {at_end})"


@pytest.mark.parametrize(
    ("interval", "p_value", "words"),
    [
        ((0.01, 0.2), 0.05, "too near the limit"),
        ((-0.2, -0.01), 0.01, "too near the limit"),
        ((0.01, 0.2), 0.06, "though the interval leaves 0 out"),
        ((-0.2, -0.01), 0.06, "though the interval leaves 0 out"),
        ((0.0, 0.2), 0.05, "the interval reaches 0"),
        ((-0.2, 0.0), 0.05, "the interval reaches 0"),
    ],
)
def test_why_nothing_is_decided_names_which_of_test_and_interval_could_tell(
    interval: tuple[float, float], p_value: float, words: str
) -> None:
    assert words in why_undecided(interval, p_value, 0.05)


def test_where_both_leave_a_difference_open_nothing_more_is_said() -> None:
    assert why_undecided((-0.1, 0.1), 0.2, 0.05) == ""
