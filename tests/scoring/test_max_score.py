"""max-score: which of several outputs is selected, and by which figures."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.table import check_all
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Subject, Unchecked
from minions_evals_mcp.scoring.max_score import (
    Component,
    MaxScore,
    NamedScores,
    OutputScores,
    SelectedOutput,
    max_score_of,
    parted,
    select,
)

TYPES = ("python", "llm-rubric", "contains", "not-contains")


def output(*scores: tuple[str, float | None], passed: bool = True, score: float = 0.5) -> OutputScores:
    """An output whose assertions scored so."""
    return OutputScores(tuple(Component(*one) for one in scores), passed, score)


def scored(*scores: float | None) -> list[OutputScores]:
    """An output of one assertion for each score."""
    return [output(("contains", one)) for one in scores]


def selection(outputs: list[OutputScores], **config: JsonValue) -> SelectedOutput:
    """The selection under that `value`."""
    found = select(outputs, MaxScore.model_validate(config))
    assert isinstance(found, SelectedOutput), found
    return found


def aggregates(found: SelectedOutput) -> list[float]:
    return [one.named_scores.max_score for one in found.standings]


def test_one_selection_is_made_over_all_outputs_after_their_own_assertions_ran() -> None:
    checks = (Assertion(type="contains", value="Paris"), Assertion(type="icontains", value="france"))
    verdicts = [check_all(checks, Subject(text)) for text in ("Paris", "Paris, France", "Rome")]
    found = selection([OutputScores.of(one) for one in verdicts if isinstance(one, Aggregate)])
    assert found.selected == 1
    assert aggregates(found) == [0.5, 1.0, 0.0]


def test_what_checks_and_what_chooses_are_told_apart_by_their_type_alone() -> None:
    before, after = Assertion(type="contains", value="a"), Assertion(type="starts-with", value="a")
    choosing = Assertion(type="max-score", value={"threshold": 0.5})
    assert parted([before, choosing, after]) == ((before, after), MaxScore(threshold=0.5))
    assert parted([before, after]) == ((before, after), MaxScore())
    with pytest.raises(InvalidRecordError, match="a second max-score"):
        parted([before, choosing, choosing])
    with pytest.raises(InvalidRecordError, match="requires at least one assertion"):
        parted([choosing])


def test_the_same_scores_always_give_the_same_selection() -> None:
    outputs = [output(("python", 0.25), ("contains", 1.0)), output(("python", 0.5), ("contains", 1.0))]
    assert select(outputs, MaxScore()) == select(outputs, MaxScore())


def test_the_method_is_the_average_unless_the_sum_is_asked_for() -> None:
    outputs = [output(("contains", 0.9)), output(("contains", 0.5), ("python", 0.5))]
    assert selection(outputs).selected == 0
    assert selection(outputs, method="average").selected == 0
    assert selection(outputs, method="sum").selected == 1


def test_the_average_is_over_the_weights_and_the_sum_is_not() -> None:
    outputs = [output(("python", 1.0), ("contains", 0.5)), output(("python", 0.0), ("contains", 0.0))]
    weights: JsonValue = {"python": 3, "contains": 2}
    assert aggregates(selection(outputs, weights=weights)) == [0.8, 0.0]
    assert aggregates(selection(outputs, weights=weights, method="sum")) == [4.0, 0.0]


def test_a_weight_holds_for_all_assertions_of_its_type_and_others_weigh_one() -> None:
    first = output(("llm-rubric", 1.0), ("llm-rubric", 0.0), ("contains", 1.0), ("not-contains", 0.0))
    found = selection([first, first], weights={"llm-rubric": 4})
    assert found.standings[0].named_scores == NamedScores(max_score=0.5, assertion_count=4, total_weight=10.0)


def test_the_worked_example_makes_nine_tenths() -> None:
    example = output(("python", 1.0), ("llm-rubric", 0.5), ("contains", 1.0))
    found = selection([example, output(("python", 0.0))], weights={"python": 3, "llm-rubric": 1})
    assert found.standings[0].named_scores == NamedScores(max_score=0.9, assertion_count=3, total_weight=5.0)


@pytest.mark.parametrize(
    ("threshold", "selected"), [(0.7, 1), (0.700001, None), (0, 1), (-1, 1)], ids=["at", "above", "zero", "below zero"]
)
def test_the_threshold_is_inclusive_and_below_it_nothing_is_selected(threshold: float, selected: int | None) -> None:
    found = selection(scored(0.6, 0.7), threshold=threshold)
    assert found.selected == selected
    assert [one.verdict.passed for one in found.standings] == [False, selected == 1]


def test_a_threshold_that_floats_miss_by_a_hair_is_reached() -> None:
    outputs = [output(("contains", 0.1), ("contains", 0.2)), output(("contains", 0.0))]
    assert sum((0.1, 0.2)) / 2 != 0.15
    assert selection(outputs, threshold=0.15).selected == 0


def test_a_binary_assertion_counts_one_or_nothing_and_a_scored_one_its_number() -> None:
    checks = (Assertion(type="contains", value="a"), Assertion(type="contains", value="z"))
    found = check_all(checks, Subject("a"))
    assert isinstance(found, Aggregate)
    binary = OutputScores.of(found)
    assert [one.score for one in binary.components] == [1.0, 0.0]
    assert aggregates(selection([binary, output(("llm-rubric", 0.73))])) == [0.5, 0.73]


def test_what_code_looked_at_counts_beside_its_own_score() -> None:
    parts = (Checked("python", passed=True, score=1, reason=""), Checked("python", passed=False, score=0, reason=""))
    code = Checked("python", passed=True, score=0.5, reason="", parts=parts)
    found = OutputScores.of(Aggregate(passed=True, score=0.5, results=(code,)))
    assert [one.score for one in found.components] == [0.5, 1, 0]


def test_of_a_set_its_members_count_and_of_a_negated_one_its_own_score() -> None:
    members = (
        Checked("answer-relevance", passed=True, score=0.9, reason=""),
        Checked("rouge-n", passed=True, score=1, reason=""),
    )
    for kind, counted in (
        ("assert-set", [0.9, 1]),
        ("not-assert-set", [0.2]),
        ("zeta", [0.2, 0.9, 1]),
        ("answer", [0.2, 0.9, 1]),
    ):
        whole = Checked(kind, passed=True, score=0.2, reason="", parts=members)
        found = OutputScores.of(Aggregate(passed=True, score=0.2, results=(whole,)))
        assert [one.score for one in found.components] == counted, kind


@pytest.mark.parametrize(("weight", "is_one"), [(0, True), (1e9, True), (1.1e9, False), (-0.1, False)])
def test_a_weight_lies_between_nothing_and_a_billion(weight: float, *, is_one: bool) -> None:
    asked = Assertion(type="max-score", value={"weights": {"contains": weight}})
    if is_one:
        assert max_score_of(asked).weights == {"contains": weight}
    else:
        with pytest.raises(InvalidRecordError, match="contains"):
            max_score_of(asked)


def test_the_highest_passes_and_all_others_fail() -> None:
    found = selection(scored(0.2, 0.9, 0.5))
    assert [(one.verdict.passed, one.verdict.score) for one in found.standings] == [(False, 0), (True, 1), (False, 0)]


def test_of_equal_outputs_the_first_is_selected() -> None:
    found = selection(scored(0.5, 0.9, 0.9))
    assert found.selected == 1
    assert "ties with output 1" in found.standings[2].verdict.reason


def test_a_difference_that_only_floats_make_is_a_tie() -> None:
    assert 0.1 * 3 > 0.3
    assert selection([output(("a", 0.3)), output(("a", 0.1), ("a", 0.1), ("a", 0.1))], method="sum").selected == 0


def test_where_all_fail_the_least_bad_is_selected_and_stays_failed() -> None:
    outputs = [output(("a", 0.1), passed=False), output(("a", 0.2), passed=False), output(("a", 0.0), passed=False)]
    found = selection(outputs)
    assert found.selected == 1
    assert [one.passed for one in found.standings] == [False, False, False]


def test_even_where_all_score_nothing_one_is_selected() -> None:
    assert selection(scored(0.0, 0.0)).selected == 0


@pytest.mark.parametrize(
    "outputs",
    [[output(), output()], [output(("a", 1.0)), output()], [output(("select-best", 1.0)), output(("max-score", 1.0))]],
    ids=["none", "one has none", "only selecting ones"],
)
def test_without_another_assertion_there_is_an_error_and_no_selection(outputs: list[OutputScores]) -> None:
    found = select(outputs, MaxScore())
    assert isinstance(found, Unchecked)
    assert f"{found.type} {found.reason}".startswith("max-score requires at least one assertion to aggregate")


@pytest.mark.parametrize("outputs", [[], scored(1.0)], ids=["none", "one"])
def test_fewer_than_two_outputs_are_an_error(outputs: list[OutputScores]) -> None:
    assert select(outputs, MaxScore()) == Unchecked("max-score", "requires at least two outputs to choose from")


def test_every_reason_shows_the_aggregate() -> None:
    said = [one.verdict.reason for one in selection(scored(0.9, 0.123456, 0.9)).standings]
    assert said == [
        "selected: score 0.9 is the highest of 3",
        "not selected: score 0.123456, the highest is 0.9",
        "not selected: score 0.9 ties with output 0, which comes first",
    ]
    assert selection(scored(0.5, 0.75)).standings[0].verdict.reason == "not selected: score 0.5, the highest is 0.75"
    below = [one.verdict.reason for one in selection(scored(0.5, 0.25), threshold=0.7).standings]
    assert below == [
        "not selected: score 0.5 is below the threshold 0.7",
        "not selected: score 0.25 is below the threshold 0.7",
    ]


def test_select_best_beside_it_has_no_part_in_the_aggregate() -> None:
    with_both = [
        output(("contains", 0.5), ("select-best", 1.0), ("max-score", 1.0)),
        output(("contains", 0.6), ("select-best", 0.0), ("max-score", 0.0)),
    ]
    found = selection(with_both, weights={"select-best": 9, "max-score": 9})
    assert found.selected == 1
    assert found.standings[0].named_scores == NamedScores(max_score=0.5, assertion_count=1, total_weight=1.0)


def test_a_missing_score_counts_nothing_and_no_weight_makes_nothing() -> None:
    assert aggregates(selection(scored(None, 0.4))) == [0.0, 0.4]
    weightless = selection(scored(1.0, 0.4), weights={"contains": 0})
    assert (aggregates(weightless), weightless.selected) == ([0.0, 0.0], 0)
    assert aggregates(selection(scored(1.0, 0.4), weights={"contains": 0}, method="sum")) == [0.0, 0.0]


def test_the_figures_are_named_as_on_the_wire() -> None:
    found = selection(scored(0.5, 0.25)).standings[0].named_scores
    assert found.model_dump() == {"maxScore": 0.5, "assertionCount": 1, "totalWeight": 1.0}


@pytest.mark.parametrize("passed", [True, False])
def test_a_test_passes_where_it_passed_before_and_is_selected_and_a_loser_scores_nothing(passed: bool) -> None:
    outputs = [output(("a", 1.0), passed=passed, score=0.75), output(("a", 0.5), passed=passed, score=0.5)]
    found = selection(outputs)
    assert [(one.passed, one.score) for one in found.standings] == [(passed, 0.75), (False, 0.0)]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, MaxScore()),
        ({"method": "sum", "threshold": 1}, MaxScore(method="sum", threshold=1.0)),
        ({"weights": {"python": 3}}, MaxScore(weights={"python": 3.0})),
    ],
)
def test_the_value_says_how_and_no_value_means_the_defaults(given: JsonValue, meant: MaxScore) -> None:
    assert max_score_of(Assertion(type="max-score", value=given)) == meant


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"method": "median"}, "value.method"),
        ({"weights": {"python": -1}}, "value.weights.python"),
        ({"weights": {"python": 1e300}}, "value.weights.python"),
        ({"weights": {"python": True}}, "value.weights.python"),
        ({"treshold": 1}, "value.treshold"),
        ({"threshold": "0.7"}, "value.threshold"),
        ("average", "value"),
        ([], "value"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_key(given: JsonValue, field: str) -> None:
    with pytest.raises(InvalidRecordError) as found:
        max_score_of(Assertion(type="max-score", value=given))
    assert found.value.field == field


def test_a_threshold_beside_the_value_is_refused_for_it_would_do_nothing() -> None:
    with pytest.raises(InvalidRecordError, match="belongs in the value"):
        max_score_of(Assertion(type="max-score", threshold=0.7))


SCORE = st.floats(0, 1)
OUTPUT = st.lists(st.tuples(st.sampled_from(TYPES), SCORE), min_size=1, max_size=6).map(lambda one: output(*one))
OUTPUTS = st.lists(OUTPUT, min_size=2, max_size=5)
CONFIG = st.builds(
    MaxScore,
    method=st.sampled_from(["average", "sum"]),
    weights=st.dictionaries(st.sampled_from(TYPES), st.floats(0, 10)),
    threshold=st.none() | SCORE,
)


@given(OUTPUTS, CONFIG, st.data())
def test_no_score_that_rises_lowers_an_aggregate_or_loses_the_selection(
    outputs: list[OutputScores], config: MaxScore, data: st.DataObject
) -> None:
    before = select(outputs, config)
    assert isinstance(before, SelectedOutput)
    at = before.selected if before.selected is not None else 0
    part = data.draw(st.integers(0, len(outputs[at].components) - 1))
    old = outputs[at].components[part]
    risen = [*outputs[at].components]
    risen[part] = Component(old.type, data.draw(st.floats(old.score or 0.0, 1)))
    after = select([*outputs[:at], outputs[at]._replace(components=tuple(risen)), *outputs[at + 1 :]], config)
    assert isinstance(after, SelectedOutput)
    assert after.standings[at].named_scores.max_score >= before.standings[at].named_scores.max_score
    assert before.selected is None or after.selected == before.selected


@given(OUTPUTS, CONFIG, st.randoms(use_true_random=False))
def test_the_order_of_assertions_changes_nothing(outputs: list[OutputScores], config: MaxScore, random: Random) -> None:
    turned = [one._replace(components=tuple(random.sample(one.components, len(one.components)))) for one in outputs]
    assert select(turned, config) == select(outputs, config)


@given(OUTPUT, st.integers(2, 5), CONFIG)
def test_of_the_same_output_several_times_the_first_is_selected(
    one: OutputScores, times: int, config: MaxScore
) -> None:
    found = select([one] * times, config)
    assert isinstance(found, SelectedOutput)
    assert found.selected in {0, None}
    assert found.selected == 0 or config.threshold is not None


@given(OUTPUTS, CONFIG)
def test_a_threshold_only_ever_takes_the_selection_away(outputs: list[OutputScores], config: MaxScore) -> None:
    free = select(outputs, config.model_copy(update={"threshold": None}))
    held = select(outputs, config)
    assert isinstance(free, SelectedOutput)
    assert isinstance(held, SelectedOutput)
    assert free.selected is not None
    assert held.selected in {free.selected, None}
    highest = free.standings[free.selected].named_scores.max_score
    assert (held.selected is None) == (config.threshold is not None and highest < config.threshold - 1e-9)
