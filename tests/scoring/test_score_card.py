"""The score card: figures of columns, score matrices, and two cards side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.scoring.score_card import (
    MIXED_KINDS,
    MIXED_WAYS,
    BooleanColumn,
    Column,
    NumberColumn,
    OtherColumn,
    Row,
    ScoreCard,
    Tallies,
    custom_card,
    mean,
    score_card,
)
from minions_evals_mcp.scoring.score_changes import Effect, Figure, FigureChange, card_changes, change
from minions_evals_mcp.scoring.score_matrix import ScoreCell, ScoreMatrix, custom_score, figure_text, score_matrices

ROWS: tuple[Row, ...] = (
    {"id": "a", "ok": True, "kind": False, "tone": 4, "length": 10, "note": "x"},
    {"id": "b", "ok": False, "kind": False, "tone": 5, "length": 30, "note": 1},
    {"id": "c", "ok": True, "kind": True, "tone": 3, "length": 20, "note": True},
    {"id": "d", "ok": True, "kind": False, "tone": 4, "length": 40, "note": None},
)


def columns(*rows: Row, falling: Sequence[str] = ()) -> tuple[Column, ...]:
    """The columns of a table of those rows."""
    tallies = Tallies()
    for row in rows:
        tallies.add(row)
    return tallies.columns(falling=frozenset(falling))


def card(*chosen: str, rows: Sequence[Row] = ROWS, falling: Sequence[str] = ()) -> ScoreCard:
    """The card of those columns."""
    return score_card(columns(*rows, falling=falling), chosen)


def one_column(*cells: JsonValue) -> Column:
    (found,) = columns(*({"c": cell} for cell in cells))
    return found


def test_a_table_of_rows_and_columns_has_one_score() -> None:
    found = card("tone")
    assert (found.score, found.unit) == (4.0, "number")
    assert found.columns == (NumberColumn(name="tone", figure=4.0, count=4, empty=0),)


@pytest.mark.parametrize(
    ("cells", "score", "unit"), [((True, False, True, True), 75.0, "percent"), ((1, 2, 2.5), 5.5 / 3, "number")]
)
def test_without_a_choice_the_last_column_is_scored(cells: tuple[JsonValue, ...], score: float, unit: str) -> None:
    found = card(rows=[{"first": 9, "last": cell} for cell in cells])
    assert (found.score, found.unit) == (pytest.approx(score), unit)
    assert [one.name for one in found.columns] == ["last"]


def test_the_last_column_is_the_one_that_comes_last_whatever_order_later_rows_have() -> None:
    assert card(rows=[{"a": 1, "b": 2}, {"b": 4, "a": 3}]).score == 3.0


def test_several_numeric_columns_make_the_mean_of_their_means() -> None:
    uneven: list[Row] = [{"a": 1, "b": 10}, {"a": 3, "b": None}]
    assert card("a", "b", rows=uneven).score == 6.0
    assert card("tone", "length").score == 14.5


def test_several_boolean_columns_make_the_mean_of_their_percentages() -> None:
    found = card("ok", "kind")
    assert (found.score, found.unit) == (50.0, "percent")
    assert [one.figure for one in found.columns] == [75.0, 25.0]


def test_columns_with_neither_are_left_out_and_named() -> None:
    found = card("id", "tone", "note")
    assert (found.score, found.left_out) == (4.0, ("id", "note"))


@pytest.mark.parametrize("chosen", [("note",), ("id", "note"), ()])
def test_where_nothing_remains_the_error_says_what_can_be_chosen(chosen: tuple[str, ...]) -> None:
    with pytest.raises(
        BadInputError, match=r"nothing to score: .*'note'.*Choose with columns among 'ok', 'kind', 'tone', 'length'"
    ):
        card(*chosen)


def test_an_empty_table_and_one_of_text_have_no_score() -> None:
    with pytest.raises(BadInputError, match="the table is empty"):
        card(rows=[])
    with pytest.raises(BadInputError, match="'a' has neither") as found:
        card(rows=[{"a": "x"}])
    assert found.value.remedy == ""


def test_a_column_that_is_not_there_is_an_error_that_names_the_others() -> None:
    with pytest.raises(BadInputError, match=r"unknown column 'tune'.*'id', 'ok'"):
        card("tone", "tune")
    with pytest.raises(BadInputError, match="and 5 more"):
        card("z", rows=[{f"c{number}": 1 for number in range(25)}])


def test_a_column_that_is_chosen_twice_counts_once() -> None:
    assert card("ok", "kind", "ok").score == 50.0


def test_booleans_beside_numbers_are_averaged_with_a_warning() -> None:
    found = card("ok", "tone")
    assert (found.score, found.unit, found.warnings) == (39.5, "mixed", (MIXED_KINDS,))
    assert card("tone", "length").warnings == card("ok", "kind").warnings == ()


def test_columns_that_should_fall_make_a_score_that_should_and_a_mix_is_warned_of() -> None:
    falling = card("length", falling=["length"])
    assert (falling.positive_metric, falling.warnings) == (False, ())
    mixed = card("tone", "length", falling=["length"])
    assert (mixed.positive_metric, mixed.warnings) == (True, (MIXED_WAYS,))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ((True, None, ""), BooleanColumn(name="c", true=1, count=1, empty=2)),
        ((1, " ", 2), NumberColumn(name="c", figure=1.5, count=2, empty=1)),
        ((1, True), OtherColumn(name="c", count=2, empty=0)),
        (("true", "1"), OtherColumn(name="c", count=2, empty=0)),
        (([1], {"a": 1}), OtherColumn(name="c", count=2, empty=0)),
        ((None, ""), OtherColumn(name="c", count=0, empty=2)),
        ((1, 10**400), OtherColumn(name="c", count=2, empty=0)),
        ((1, math.inf), OtherColumn(name="c", count=2, empty=0)),
        ((10**300, 1), NumberColumn(name="c", figure=5e299, count=2, empty=0)),
    ],
)
def test_a_column_counts_where_all_its_cells_that_are_not_empty_are_of_one_kind(
    cells: tuple[JsonValue, ...], kind: Column
) -> None:
    assert one_column(*cells) == kind


def test_a_cell_that_a_row_does_not_have_is_empty() -> None:
    found = columns({"a": 1}, {"b": True}, {"a": 3})
    assert found == (
        NumberColumn(name="a", figure=2.0, count=2, empty=1),
        BooleanColumn(name="b", true=1, count=1, empty=2),
    )


@given(st.lists(st.floats(-1e308, 1e308), min_size=1))
def test_a_mean_lies_between_its_numbers_in_whatever_order_they_come(numbers: list[float]) -> None:
    found = mean(numbers)
    slack = 1e-9 * max(map(abs, numbers))
    assert min(numbers) - slack <= found <= max(numbers) + slack
    assert mean(sorted(numbers)) == found


def test_numbers_whose_sum_is_beyond_every_float_still_have_a_mean() -> None:
    assert mean([1.5e308, 1.5e308]) == 1.5e308


@given(st.lists(st.booleans(), min_size=1))
def test_booleans_turned_round_make_the_rest_to_a_hundred(cells: list[bool]) -> None:
    straight = card(rows=[{"c": cell} for cell in cells]).score
    turned = card(rows=[{"c": not cell} for cell in cells]).score
    assert straight + turned == pytest.approx(100)


def test_a_custom_score_has_a_score_and_may_have_matrices() -> None:
    assert custom_card(custom_score({"score": 3})) == ScoreCard(score=3.0, unit="number")
    found = custom_card(custom_score({"score": 0.5, "score_matrix": [[[1, "a"]]]}))
    assert found.score_matrix == (ScoreMatrix(rows=((ScoreCell(value=1.0), ScoreCell(value="a")),)),)
    assert custom_score({"score": 1, "score_matrix": None}).score_matrix == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (7, "must be an object with a score"),
        ({}, "score: is missing"),
        ({"score_matrix": []}, "score: is missing"),
        ({"score": "7"}, "score: must be a number"),
        ({"score": True}, "score: must be a number"),
        ({"score": None}, "score: must be a number"),
        ({"score": 1, "scores": 2}, "scores: unknown key"),
    ],
)
def test_what_is_no_score_is_refused(given: JsonValue, said: str) -> None:
    with pytest.raises(InvalidRecordError, match=said):
        custom_score(given)


def values(matrix: ScoreMatrix) -> list[list[Figure]]:
    return [[cell.value for cell in row] for row in matrix.rows]


def test_there_may_be_one_matrix_or_several() -> None:
    assert [values(one) for one in score_matrices([[[1, 2], [3, 4]]])] == [[[1, 2], [3, 4]]]
    several = score_matrices([[[1]], [[2, 3]], []])
    assert [values(one) for one in several] == [[[1]], [[2, 3]], []]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "score_matrix: must be a list of matrices"),
        ([1], r"score_matrix\.0: must be a list of rows"),
        ([[[1]], [[1], 2]], r"score_matrix\.1\.1: must be a list of cells"),
        ([[1, 2], [1, 2]], r"score_matrix\.0\.0: must be a list of cells"),
        ([[[1, None]]], r"score_matrix\.0\.0\.1: must be a string, a number or"),
        ([[[True]]], r"score_matrix\.0\.0\.0: must be"),
        ([[[{"positive_metric": True}]]], r"score_matrix\.0\.0\.0: must be"),
        ([[[{"value": 1, "positive": True}]]], r"score_matrix\.0\.0\.0: must be"),
        ([[[{"value": 1, "positive_metric": "no"}]]], r"score_matrix\.0\.0\.0: must be"),
    ],
)
def test_a_matrix_that_does_not_fit_is_refused_with_its_place(given: JsonValue, said: str) -> None:
    with pytest.raises(InvalidRecordError, match=said):
        score_matrices(given)


def test_a_cell_is_raw_or_says_whether_a_rise_is_good_which_it_is_by_default() -> None:
    row: JsonValue = [
        42,
        "x",
        {"value": 42},
        {"value": "x", "positive_metric": True},
        {"value": 7.5, "positive_metric": False},
    ]
    (found,) = score_matrices([[row]])
    assert [(cell.value, cell.positive_metric) for cell in found.rows[0]] == [
        (42, True),
        ("x", True),
        (42, True),
        ("x", True),
        (7.5, False),
    ]
    assert found.rows[0][0].model_dump() == {"value": 42, "positive_metric": True}


@pytest.mark.parametrize(
    ("given", "title", "rows"),
    [
        ([["Title", 1, 2], [1, 2]], "Title", [[1, 2], [1, 2]]),
        ([[1, 2], [1, 2]], None, [[1, 2], [1, 2]]),
        ([["T", "yes", "no"], [1, 2], [3, 4]], "T", [["yes", "no"], [1, 2], [3, 4]]),
        ([[2026, 1], [1]], "2026", [[1], [1]]),
        ([[{"value": "T"}, 1], [1]], "T", [[1], [1]]),
        ([["A", 1]], None, [["A", 1]]),
        ([["A", 1, 2], [1]], None, [["A", 1, 2], [1]]),
        ([["A", 1, 2], [1, 2], [1]], None, [["A", 1, 2], [1, 2], [1]]),
    ],
)
def test_one_field_more_at_the_front_of_the_first_row_is_the_title(
    given: JsonValue, title: str | None, rows: list[list[Figure]]
) -> None:
    (found,) = score_matrices([given])
    assert (found.title, values(found)) == (title, rows)


def test_the_example_whose_header_is_as_long_as_its_rows_has_no_title() -> None:
    example: JsonValue = [
        ["Criteria", "Weight", "Value"],
        ["Correctness", 4, 7],
        ["Completeness", 3, 6],
        ["Accuracy", 5, 8],
        ["Relevance", 4, 9],
    ]
    (found,) = custom_score({"score": 4, "score_matrix": [example]}).score_matrix
    assert (found.title, values(found)) == (None, example)


@pytest.mark.parametrize(
    ("before", "after", "positive", "effect"),
    [
        (1.0, 2.0, True, "better"),
        (2.0, 1.0, True, "worse"),
        (1.0, 2.0, False, "worse"),
        (2.0, 1.0, False, "better"),
        (0.1 + 0.2, 0.3, True, "same"),
        ("a", "a", True, "same"),
        ("a", "b", True, "incomparable"),
        ("a", 1.0, True, "incomparable"),
        (None, 1.0, True, "incomparable"),
        (1.0, None, True, "incomparable"),
    ],
)
def test_the_sign_of_a_change_is_read_through_positive_metric(
    before: Figure | None, after: Figure | None, positive: bool, effect: Effect
) -> None:
    found = change(before, after, positive_metric=positive)
    assert (found.effect, found.before, found.after) == (effect, before, after)
    both_numbers = isinstance(before, float) and isinstance(after, float)
    assert (found.delta is not None) == both_numbers


@given(st.floats(-1e308, 1e308), st.floats(-1e308, 1e308), st.booleans())
def test_a_change_there_and_back_is_good_once_and_bad_once(before: float, after: float, positive: bool) -> None:
    there, back = (change(*pair, positive_metric=positive) for pair in ((before, after), (after, before)))
    assert {there.effect, back.effect} in ({"same"}, {"better", "worse"})


def test_a_difference_beyond_every_float_still_has_its_sign() -> None:
    assert change(-1.5e308, 1.5e308) == FigureChange(
        before=-1.5e308, after=1.5e308, delta=None, positive_metric=True, effect="better"
    )


def test_two_cards_are_compared_column_by_column() -> None:
    before = card("ok", "length", "tone", falling=["length"])
    later: list[Row] = [{"ok": True, "length": 10, "kind": True}, {"ok": True, "length": 20, "kind": False}]
    found = card_changes(before, card("ok", "length", "kind", rows=later, falling=["length"]))
    assert {name: (one.delta, one.effect) for name, one in found.columns.items()} == {
        "ok": (25.0, "better"),
        "length": (-10.0, "better"),
        "kind": (None, "incomparable"),
        "tone": (None, "incomparable"),
    }
    assert (found.columns["tone"].after, found.columns["kind"].before) == (None, None)


def test_scores_and_columns_of_different_kinds_have_no_difference_and_say_so() -> None:
    found = card_changes(card("c", rows=[{"c": True}]), card("c", rows=[{"c": 3}]))
    assert (found.score.delta, found.columns["c"].delta) == (None, None)
    assert found.warnings == (
        "The two scores are of different kinds (percent, number), so their difference has no meaning.",
    )
    assert card_changes(card("ok"), card("kind")).score.delta == -50.0


def test_matrices_are_matched_by_title_and_compared_cell_by_cell() -> None:
    falls: JsonValue = {"value": 2, "positive_metric": False}
    rises: JsonValue = {"value": 5, "positive_metric": False}
    before = custom_card(custom_score({"score": 1, "score_matrix": [[["B", "x"], [1]], [["y", falls]], [["gone"]]]}))
    after = custom_card(custom_score({"score": 2, "score_matrix": [[["y", rises, 3]], [["B", "x"], [4]]]}))
    found = card_changes(before, after)
    told = [(one.title, [[(cell.delta, cell.effect) for cell in row] for row in one.rows]) for one in found.matrices]
    assert told == [
        (None, [[(None, "same"), (3.0, "worse"), (None, "incomparable")]]),
        ("B", [[(None, "same")], [(3.0, "better")]]),
        (None, [[(None, "incomparable")]]),
    ]
    assert found.score.effect == "better"


@pytest.mark.parametrize(
    ("figure", "text"),
    [(3.0, "3"), (2 / 3, "0.666667"), (-0.5, "-0.5"), (1e20, "1e+20"), ("a", "a"), (123456789.0, "123456789")],
)
def test_a_figure_is_written_short_and_whole_numbers_whole(figure: Figure, text: str) -> None:
    assert figure_text(figure) == text
