"""A/B tests: who wins by which criterion, and what executions add up to."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minions_evals_mcp.scoring.ab import (
    Contender,
    Criterion,
    consistency_hash,
    consistency_score,
    is_valid_json,
    mean_known,
    merit_of,
    ranked,
    reaches_quality,
    tokens_per_second,
)

CRITERIA: tuple[Criterion, ...] = ("best_quality", "fastest", "cheapest", "best_value", "balanced")


def one(
    name: str,
    quality: float | None = 0.5,
    latency_ms: float = 100,
    cost_usd: float | None = 0.01,
    *,
    control: bool = False,
    failed: bool = False,
    wins: int = 0,
) -> Contender:
    return Contender(name, control, quality, latency_ms, cost_usd, failed, wins)


def order(criterion: Criterion, *contenders: Contender) -> list[str]:
    return [standing.branch_id for standing in ranked(contenders, criterion).standings]


def test_a_branch_has_not_failed_and_has_won_nothing_unless_that_is_said() -> None:
    silent = Contender("a", is_control=False, quality=0.5, latency_ms=100, cost_usd=0.01)
    assert silent == one("a")
    assert ranked([silent, one("b", 0.4)], "best_quality").winner == "a"
    assert order("best_quality", silent, one("b", 0.9, failed=True)) == ["a", "b"]
    assert order("best_quality", silent, one("b", 0.4, wins=1)) == ["b", "a"]


# A is the best, B the fastest, C the cheapest, D the best for its money.
FIELD = (
    one("a", 0.95, 900, 0.030),
    one("b", 0.60, 100, 0.020),
    one("c", 0.40, 500, 0.002),
    one("d", 0.90, 400, 0.003),
)


@pytest.mark.parametrize(
    ("criterion", "wanted"),
    [
        ("best_quality", ["a", "d", "b", "c"]),
        ("fastest", ["b", "d", "c", "a"]),
        ("cheapest", ["c", "d", "b", "a"]),
        ("best_value", ["d", "c", "a", "b"]),
        ("balanced", ["d", "b", "c", "a"]),
    ],
)
def test_each_of_the_five_criteria_has_its_own_order(criterion: Criterion, wanted: list[str]) -> None:
    found = ranked(FIELD, criterion)
    assert [standing.branch_id for standing in found.standings] == wanted
    assert found.winner == wanted[0]
    assert found.is_clear


def test_balanced_is_40_percent_quality_30_speed_and_30_cost() -> None:
    figures = {standing.branch_id: standing.figure for standing in ranked(FIELD, "balanced").standings}
    assert figures["a"] == pytest.approx(0.4 * 0.95 + 0.3 * 100 / 900 + 0.3 * 0.002 / 0.030)
    assert figures["b"] == pytest.approx(0.4 * 0.60 + 0.3 + 0.3 * 0.002 / 0.020)


def test_the_figure_of_a_criterion_is_what_it_ranks_by() -> None:
    def best(criterion: Criterion) -> float | None:
        return ranked(FIELD, criterion).standings[0].figure

    assert best("best_quality") == 0.95
    assert best("fastest") == 100
    assert best("cheapest") == 0.002
    assert best("best_value") == pytest.approx(0.9 / 0.003)


def test_every_branch_is_ranked_and_the_winner_has_rank_1() -> None:
    found = ranked(FIELD, "best_quality")
    assert [standing.rank for standing in found.standings] == [1, 2, 3, 4]
    assert found.standings[0].branch_id == found.winner


def test_a_cost_or_a_latency_of_zero_scores_all_of_its_share() -> None:
    (first, second) = ranked((one("free", 0.5, 0, 0.0), one("paid", 0.5, 10, 0.1)), "balanced").standings
    assert (first.branch_id, first.figure) == ("free", pytest.approx(0.8))
    assert second.figure == pytest.approx(0.4 * 0.5), "nothing comes near to what is free and takes no time"


def test_among_branches_that_cost_nothing_the_better_one_is_the_best_value() -> None:
    free = (one("good", 0.9, cost_usd=0.0), one("fair", 0.6, cost_usd=0.0), one("paid", 1.0, cost_usd=1e-9))
    assert order("best_value", *free) == ["good", "fair", "paid"]
    found = ranked((one("paid", 0.2), one("worthless", 0.0, cost_usd=0.0)), "best_value")
    assert found.winner == "paid", "no quality is no value, at whatever price"


def test_the_merit_of_a_branch_is_its_first_figure_and_none_where_that_has_no_bound() -> None:
    field = [one("a", 0.9, cost_usd=0.003), one("b", 0.5, cost_usd=0.0), one("c", 0.0, cost_usd=0.0), one("d", None)]
    assert merit_of(field, "best_value") == {"a": pytest.approx(300), "c": 0.0}


def test_value_is_quality_for_a_dollar_and_no_whole_number_of_it() -> None:
    assert order("best_value", one("better", 0.9, cost_usd=0.4), one("worth it", 0.5, cost_usd=0.2)) == [
        "worth it",
        "better",
    ], "2.5 for a dollar are more than 2.25"


@pytest.mark.parametrize("criterion", ["cheapest", "best_value", "balanced"])
def test_an_unknown_cost_ranks_behind_the_known_ones_and_before_the_failed(criterion: Criterion) -> None:
    found = ranked(
        (one("failed", 1.0, failed=True), one("unknown", 1.0, 1, None), one("known", 0.1, 900, 9.0)), criterion
    )
    assert [standing.branch_id for standing in found.standings] == ["known", "unknown", "failed"]
    assert [standing.figure is None for standing in found.standings] == [False, True, True]


@pytest.mark.parametrize("criterion", ["best_quality", "fastest"])
def test_an_unknown_cost_is_no_matter_where_cost_is_none(criterion: Criterion) -> None:
    assert ranked((one("known", 0.1, 900), one("unknown", 1.0, 1, None)), criterion).winner == "unknown"


def test_where_no_figure_is_known_nobody_wins() -> None:
    unknown = ranked((one("a", cost_usd=None), one("b", cost_usd=None)), "cheapest")
    assert (unknown.winner, unknown.is_clear) == (None, False)
    assert ranked((one("a", None), one("b", None)), "best_quality").winner is None
    assert ranked((one("a", failed=True), one("b", failed=True)), "fastest").winner is None
    assert ranked((), "fastest").winner is None


def test_a_tie_goes_to_the_control_and_then_to_the_order_given() -> None:
    found = ranked((one("a"), one("b"), one("c", control=True)), "best_quality")
    assert [standing.branch_id for standing in found.standings] == ["c", "a", "b"]
    assert found.winner == "c"
    assert not found.is_clear
    assert order("best_quality", one("x", 0.1 + 0.2), one("y", 0.3, control=True)) == ["y", "x"], "0.1 + 0.2 is 0.3"


def test_costs_of_a_billionth_are_no_tie() -> None:
    assert ranked((one("a", cost_usd=2e-9), one("b", cost_usd=1e-9)), "cheapest").winner == "b"


def test_iterations_won_come_before_the_means() -> None:
    assert order("best_quality", one("better", 0.9, wins=1), one("steadier", 0.8, wins=4)) == ["steadier", "better"]


contenders = st.lists(
    st.tuples(
        st.one_of(st.none(), st.floats(0, 1)),
        st.floats(0, 1e6),
        st.one_of(st.none(), st.floats(0, 100)),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=5,
).map(lambda rows: [one(str(index), q, ms, c, control=k, failed=f) for index, (q, ms, c, k, f) in enumerate(rows)])


@given(contenders, st.sampled_from(CRITERIA))
def test_failed_branches_come_last_and_never_win_and_every_branch_has_a_rank(
    field: list[Contender], criterion: Criterion
) -> None:
    found = ranked(field, criterion)
    failed = {contender.branch_id for contender in field if contender.failed}
    places = [standing.branch_id in failed for standing in found.standings]
    assert places == sorted(places)
    assert sorted(standing.branch_id for standing in found.standings) == sorted(one.branch_id for one in field)
    assert found.winner not in failed
    assert all(standing.figure is None or not math.isnan(standing.figure) for standing in found.standings)


@given(contenders, st.sampled_from(CRITERIA))
def test_the_order_given_decides_nothing_where_there_is_no_tie(field: list[Contender], criterion: Criterion) -> None:
    found = ranked(field, criterion)
    assume(found.is_clear)
    assert all(ranked(shuffled, criterion).winner == found.winner for shuffled in itertools.permutations(field))


@given(contenders, st.floats(0, 0.9), st.floats(0, 1e6), st.floats(0, 100))
def test_more_quality_never_costs_a_balanced_rank(
    others: list[Contender], quality: float, latency_ms: float, cost_usd: float
) -> None:
    ranks = [
        next(
            standing.rank
            for standing in ranked([one("it", given, latency_ms, cost_usd), *others], "balanced").standings
            if standing.branch_id == "it"
        )
        for given in (quality, quality + 0.1)
    ]
    assert ranks[1] <= ranks[0]


def test_the_hash_tells_outputs_apart_but_for_case_and_white_space() -> None:
    assert consistency_hash("Hello  World\n") == consistency_hash(" hello world")
    assert consistency_hash("Straße") == consistency_hash("STRASSE")
    assert consistency_hash("hello world") != consistency_hash("hello, world")


@pytest.mark.parametrize(
    ("output", "valid"),
    [
        ('{"a": 1}', True),
        (" [1, 2]\n", True),
        ('"text"', True),
        ("null", True),
        ("positive", False),
        ("", False),
        ('```json\n{"a": 1}\n```', False),
        ("NaN", False),
        ("[" * 100_000, False),
    ],
)
def test_json_is_what_parses_as_it_stands(output: str, valid: bool) -> None:
    assert is_valid_json(output) is valid


def test_seventy_percent_passes_but_for_rounding() -> None:
    assert reaches_quality(0.7)
    assert reaches_quality(0.1 * 7)
    assert reaches_quality(0.7 - 1e-12)
    assert not reaches_quality(0.6999)


def same_letter(a: str, b: str) -> float:
    return 1.0 if a[0] == b[0] else 0.25


def test_consistency_is_the_mean_distance_of_the_outputs_of_one_version() -> None:
    assert consistency_score([["aa", "ab", "ac"]], same_letter) == 0
    assert consistency_score([["a", "a", "b"]], same_letter) == pytest.approx(2 / 3 * 0.75)
    assert consistency_score([["a", "a"], ["b", "b"]], same_letter) == 0, "versions are not compared with each other"
    assert consistency_score([["a", "b"], ["c", "c"]], same_letter) == pytest.approx(0.375)


def test_a_similarity_beyond_its_range_leaves_the_consistency_in_its_own() -> None:
    def found(similarity: float) -> float | None:
        return consistency_score([["a", "b"]], lambda _one, _other: similarity)

    assert (found(1 + 1e-7), found(-0.5)) == (0, 1)


def test_one_output_of_each_version_has_no_consistency() -> None:
    assert consistency_score([["a"], ["b"]], same_letter) is None
    assert consistency_score([], same_letter) is None


def test_means_are_those_of_the_figures_that_are_known() -> None:
    assert mean_known([1.0, None, 2.0]) == 1.5
    assert mean_known([None]) is None
    assert mean_known([]) is None


def test_tokens_in_a_second_need_a_time() -> None:
    assert tokens_per_second(50, 500) == 100
    assert tokens_per_second(0, 500) == 0
    assert tokens_per_second(50, 0.5) == 100_000
    assert tokens_per_second(50, 0) is None
