"""Score cards as a person reads them."""

from __future__ import annotations

import io

import pytest
from pydantic import JsonValue
from rich.console import Console, RenderableType

from minions_evals_mcp.report.score_cards import card_view, cell_text, changes_view, large
from minions_evals_mcp.scoring.score_card import Row, ScoreCard, Tallies, custom_card, score_card
from minions_evals_mcp.scoring.score_changes import card_changes
from minions_evals_mcp.scoring.score_matrix import custom_score

ROWS: list[Row] = [{"id": "a\x1b[31m", "ok": True, "tone": 4.0}, {"id": "b", "ok": False, "tone": None}]


def drawn(what: RenderableType, width: int = 80) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False, color_system=None).print(what)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def card(*chosen: str, rows: list[Row] = ROWS) -> ScoreCard:
    tallies = Tallies()
    for row in rows:
        tallies.add(row)
    return score_card(tallies.columns(), chosen)


def custom(*matrices: JsonValue, score: float = 4) -> ScoreCard:
    return custom_card(custom_score({"score": score, "score_matrix": list(matrices)}))


def test_the_score_is_large_and_booleans_are_checks_and_crosses() -> None:
    assert drawn(card_view("t.csv", card("ok"), ROWS)) == [
        "t.csv  score 50 %",
        "  ┏━╸ ┏━┓",
        "  ┗━┓ ┃ ┃",
        "  ╺━┛ ┗━┛   %",
        "column  figure  of           empty",
        "ok        50 %  1 of 2 true      0",
        "id     ok",
        "a[31m   ✓",
        "b       ✗",
    ]


def test_numbers_stand_beside_their_rows_and_what_does_not_count_is_named() -> None:
    found = drawn(card_view("t.csv", card("ok", "tone", "id"), ROWS), width=100)
    assert found[6:] == [
        "tone         4  mean of 1        1",
        "left out, neither Booleans nor numbers: id",
        "Booleans count in percent and numbers as they are, so the mean mixes two scales.",
        "id     ok  tone",
        "a[31m   ✓     4",
        "b       ✗",
    ]


def test_the_first_column_is_shown_once_where_it_is_chosen() -> None:
    assert drawn(card_view("t", card("n", rows=[{"n": 1}]), [{"n": 1}]))[-2:] == ["n", "1"]


@pytest.mark.parametrize(("figure", "lines"), [("0.731 %", 3), ("-12", 3), ("1e+20", 0)])
def test_a_figure_is_three_lines_high_where_its_characters_have_a_large_form(figure: str, lines: int) -> None:
    found = large(figure)
    assert len(found) == lines
    assert len({len(line.plain) for line in found}) <= 1


@pytest.mark.parametrize(
    ("cell", "shown", "style"),
    [
        (True, "✓", "bold green"),
        (False, "✗", "bold red"),
        (2 / 3, "0.666667", "bold"),
        (12, "12", "bold"),
        (None, "", ""),
        ("[b]x\ny", "[b]x y", ""),
        ([1], "[1]", ""),
    ],
)
def test_a_cell_is_shown_by_its_kind(cell: JsonValue, shown: str, style: str) -> None:
    found = cell_text(cell)
    assert (found.plain, str(found.style)) == (shown, style)


def test_matrices_stand_under_their_titles() -> None:
    found = drawn(card_view("t", custom([["Confusion", "yes", "no"], [1, 2]], [["x", 3]]), []))
    assert found[4:] == ["Confusion", "yes  no", "1    2", "x  3"]


def test_cards_and_matrices_stand_side_by_side_with_the_sign_of_every_change() -> None:
    falls: JsonValue = {"value": 3, "positive_metric": False}
    rises: JsonValue = {"value": 4, "positive_metric": False}
    before = custom([["T", "yes", "no"], [falls, 2]], [["old"]])
    after = custom([["T", "yes", "yes and no"], [rises, 2]], score=5)
    assert drawn(changes_view("v1", "v2", after, card_changes(before, after))) == [
        "            v1  v2       change",
        "score card   4   5  ▲ +1 better",
        "T",
        "yes  no    yes           yes and no changed",
        "3    2     4 ▲ +1 worse  2 =",
        "old     gone",
    ]


def test_columns_are_compared_by_name_and_percentages_are_marked() -> None:
    before, after = card("ok", "tone"), card("ok", "kind", rows=[{"ok": False, "kind": True}, {"ok": False}])
    assert drawn(changes_view("v1", "v2", after, card_changes(before, after)), width=120) == [
        "            v1   v2       change",
        "score card  27   50      changed",
        "ok, %       50    0  ▼ -50 worse",
        "kind, %         100          new",
        "tone         4              gone",
        "The two scores are of different kinds (mixed, percent), so their difference has no meaning.",
    ]


def test_a_change_that_is_good_is_green_and_one_that_is_bad_is_red() -> None:
    stream = io.StringIO()
    after = custom(score=5)
    console = Console(file=stream, width=80, force_terminal=True, color_system="standard")
    console.print(changes_view("a", "b", after, card_changes(custom(score=4), after)))
    console.print(changes_view("a", "b", after, card_changes(custom(score=6), after)))
    assert "\x1b[32m▲ +1 better" in stream.getvalue()
    assert "\x1b[31m▼ -1 worse" in stream.getvalue()
