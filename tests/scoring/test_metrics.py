"""Named metrics, those inside sets too, and metrics derived from them."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check_all
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Subject
from minions_evals_mcp.scoring.formula import FUNCTIONS, Formula, NoValueError, parse_formula
from minions_evals_mcp.scoring.metrics import derive, derived, metric_scores, metric_weights, named_scores

NAMES = {"a": 3.0, "b": 0.5, "c": 0.0, "__count": 4.0}


def says(word: str, metric: str | None = None, weight: float = 1) -> Assertion:
    """The check that the output holds the word."""
    return Assertion(type="contains", value=word, metric=metric, weight=weight)


def held(*members: Assertion, metric: str | None = None, weight: float = 1) -> Assertion:
    """A set."""
    return Assertion(type="assert-set", assertions=members, metric=metric, weight=weight)


def results(*assertions: Assertion) -> tuple[Checked, ...]:
    """What the checks find in the output "a"."""
    found = check_all(assertions, Subject("a"))
    assert isinstance(found, Aggregate)
    return found.results


def test_a_metric_is_the_weighted_mean_of_the_checks_that_name_it() -> None:
    found = results(says("a", "m", 3), says("z", "m"), says("z", "n", 0), says("z"))
    assert metric_scores(named_scores(found)) == {"m": 0.75, "n": 0}


@pytest.mark.parametrize(("words", "mean"), [("a", 1.0), ("z", 0.0), ("az", 0.5), ("aaz", 2 / 3)])
@pytest.mark.parametrize("in_a_set", [False, True])
def test_a_metric_whose_checks_all_weigh_nothing_is_measured(words: str, mean: float, *, in_a_set: bool) -> None:
    counters = [says(word, "m", 0) for word in words]
    found = [*named_scores(results(held(*counters, says("a"))) if in_a_set else results(*counters))]
    assert metric_scores(found) == {"m": pytest.approx(mean)}
    assert metric_weights(found) == {"m": len(words)}
    beside = [*found, MetricScore("m", 1.0, 2.0)]  # one that weighs decides alone
    assert (metric_scores(beside), metric_weights(beside)) == ({"m": 1.0}, {"m": 2.0})


def test_a_metric_inside_a_set_weighs_what_its_set_lets_it_weigh() -> None:
    inner = held(says("a", "m", 3), says("z", "n"), weight=2)
    assert list(named_scores(results(inner))) == [MetricScore("m", 1, 6), MetricScore("n", 0, 2)]
    assert metric_scores(named_scores(results(inner, says("z", "m", 6)))) == {"m": 0.5, "n": 0}


def test_a_set_that_names_the_metric_of_its_members_counts_it_once() -> None:
    assert metric_scores(named_scores(results(held(says("a", "m", 3), says("z", "m"), metric="m")))) == {"m": 0.75}
    nested = held(held(says("a", "m"), weight=0.5), metric="s", weight=4)
    assert list(named_scores(results(nested))) == [MetricScore("s", 1, 4), MetricScore("m", 1, 2)]


def test_derived_metrics_see_the_sums_the_count_and_those_before_them() -> None:
    metrics = [
        derived("mean", "m / __count"),
        derived("f1", "2 * m * n / (m + n)"),
        derived("both", "mean + f1"),
        derived("m", "m * 10"),
    ]
    found = derive(metrics, {"m": 3, "n": 1}, 4)
    assert found == {"mean": 0.75, "f1": 1.5, "both": 2.25, "m": 30}


def test_a_derived_metric_without_a_value_is_none_and_so_is_what_rests_on_it() -> None:
    metrics = [derived("p", "m / n"), derived("q", "p + 1"), derived("r", "nope"), derived("s", "1")]
    assert derive(metrics, {"m": 1, "n": 0}, 1) == {"p": None, "q": None, "r": None, "s": 1}


@pytest.mark.parametrize("name", ["", " ", "__count"])
def test_a_derived_metric_has_a_name_of_its_own(name: str) -> None:
    with pytest.raises(InvalidRecordError, match=r"config.yaml:3: name: .* is not a valid name"):
        derived(name, "1", at="config.yaml:3")
    with pytest.raises(InvalidRecordError, match=r"config.yaml:3: value: the formula '1 [+]' is refused"):
        derived("m", "1 +", at="config.yaml:3")


# The values are mathjs's (the one that promptfoo brings), except where they say otherwise.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b * __count", 5), ("(a + b) * 2", 7), ("a - b - 1", 1.5), ("a / b / 2", 3), ("-2 ^ 2", -4),
        ("2 ^ 3 ^ 2", 512), ("2 ^ -3 ^ 2", 2**-9), ("-a % 2", 1), ("a % -2", -1), ("a % 0", 3), (".25 + 1e2", 100.25),
        ("0.1 + 0.2 == 0.3", 1), ("0.1 + 0.2 > 0.3", 0), ("a >= 3 and not c", 1), ("c or c", 0), ("a != 3", 0),
        ("c < 1e-16", 0), ("c <= b", 1), ("a > b ? 10 : 20", 10), ("c ? 1 / 0 : a ? 5 : 6", 5),
        ("max(a, b, 7)", 7), ("min(a)", 3), ("mean(1, 2, 6)", 3), ("sum(1, 2)", 3), ("log(8, 2)", 3), ("log(e)", 1),
        ("round(2.5)", 3), ("round(-2.5)", -3), ("round(1.005, 2)", 1.01), ("round(2.345, 2)", 2.35),
        ("round(1.23456, 20)", 1.23456), ("abs(-a)", 3), ("sqrt(a + 6)", 3), ("pow(2, 3)", 8), ("floor(-b)", -1),
        ("ceil(b)", 1), ("exp(c)", 1), ("log10(100) + log2(8)", 5), ("pi - pi + true + false", 1), ("+a", 3),
    ],
)  # fmt: skip
def test_formulas_are_worked_out(text: str, value: float) -> None:
    assert parse_formula(text).value(NAMES) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", "division"), ("a / c", "division"), ("nope + 1", "no metric 'nope'"), ("sqrt(-1)", "domain"),
        ("log(0)", "domain"), ("10 ^ 400", "range"), ("1e308 * 10", "no finite number"), ("(-8) ^ 0.5", "domain"),
    ],
)  # fmt: skip
def test_a_formula_may_have_no_value(text: str, reason: str) -> None:
    with pytest.raises(NoValueError, match=reason):
        parse_formula(text).value(NAMES)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "its end"), ("1 +", "its end"), ("(1", r"'\)' is missing"), ("1)", r"'\)' is unexpected"),
        ("a b", "'b' is unexpected"), ("2(3)", "not expected"), ("5%", "its end"), ("a < b < c", "not chained"),
        ("x = 1", "'= 1' is not supported"), ("'text'", "is not supported"), ("[1, 2]", "is not supported"),
        ("__import__('os')", "is not supported"), ("eval(1)", "no function 'eval'"), ("pow(1)", "takes 2 to 2"),
        ("max()", "not expected"), ("a ? b", "':' is missing"), ("and 1", "'and' is unexpected"), ("a.b", "'.b'"),
        ("(" * 60 + "1" + ")" * 60, "nests more than 50"), ("-" * 60 + "1", "nests more than 50"), ("2^" * 60 + "1", "nests"),
        ("1+" * 251 + "1", "more than 500 characters"),
    ],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidRecordError, match=reason):
        parse_formula(text)


def test_a_formula_tells_which_names_it_needs() -> None:
    assert parse_formula("a + max(b, a) / __count").names == {"a", "b", "__count"}


PARTS = st.sampled_from(
    ["a", "b", "c", "1", "2.5", "+", "-", "*", "/", "%", "^", "(", ")", "<", "==", "?", ":", ",", " and ", *FUNCTIONS]
)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(PARTS, max_size=30).map("".join)))
def test_any_text_is_a_formula_with_or_without_a_value_or_is_refused(text: str) -> None:
    try:
        formula = parse_formula(text)
        assert isinstance(formula, Formula)
        assert math.isfinite(formula.value(NAMES))
    except (InvalidRecordError, NoValueError):
        return


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("mn"), st.floats(0, 1), st.floats(0, 100)), max_size=6), st.randoms())
def test_metrics_do_not_depend_on_the_order_of_the_checks(parts: list[tuple[str, float, float]], order: Random) -> None:
    checks = [
        Checked("x", passed=True, score=score, reason="", weight=weight, metric=name) for name, score, weight in parts
    ]
    turned = [*checks]
    order.shuffle(turned)
    assert metric_scores(named_scores(checks)) == pytest.approx(metric_scores(named_scores(turned)))
    assert all(-1e-9 <= score <= 1 + 1e-9 for score in metric_scores(named_scores(checks)).values())
