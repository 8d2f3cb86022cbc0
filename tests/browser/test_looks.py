"""What a person sees on every page and report: light, dark, and on a screen of 360 pixels."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.browser.axe import require_axe, violations
from tests.browser.gallery import REPORTS
from tests.shared.browser.driver import Tab
from tests.shared.cli.terminal import Terminal

SCREENS = ((1000, False), (1000, True), (360, False))
"""Their widths, and whether they are dark."""
DARK_RULES = ("color-contrast", "link-in-text-block")
"""What a theme can break; all else stands in the markup, which has one form."""
FELL = "Support quality regressed: 5 of 12 passed (42 %, 95 %: 19–68 %), score 0.417."
WORSE = (
    "support@2 is worse than support@1: score 0.917 → 0.417 (−0.500, 95 %: −0.746 to −0.136, p = 0.031) on 12 cases."
)
WIDER = "document.documentElement.scrollWidth - innerWidth"
IN_SIGHT = "((box) => box.width > 0 && box.left >= 0 && box.right <= innerWidth)(({}).getBoundingClientRect())"
MARKED = """[...document.querySelectorAll("svg text, strong, .pill")]
  .find((one) => one.checkVisibility() && /^▼ (regress|fell by)/.test(one.textContent))"""


def reports(shown: dict[str, str]) -> list[tuple[str, str]]:
    """Those of the documents that are files; of pages `test_every_page` says the same."""
    return [(name, address) for name, address in shown.items() if name.startswith("report")]


def opened(at: Tab, address: str) -> None:
    """Opens the report and its first case."""
    at.go(address)
    at.ask_page("document.querySelector('#cases details').open = true")
    at.until("document.querySelector('#cases .inside')")


def test_no_report_is_wider_than_any_screen_and_none_complains(at: Tab, shown: dict[str, str]) -> None:
    for name, address in reports(shown):
        opened(at, address)
        assert at.ask_page("document.querySelectorAll('h1').length") == 1, name
        for width, dark in SCREENS:
            at.seen(width=width, dark=dark)
            assert cast("float", at.ask_page(WIDER)) <= 0, (name, width, dark)
        assert at.complaints() == [], name


def test_axe_finds_nothing_in_reports_light_or_dark(at: Tab, shown: dict[str, str]) -> None:
    require_axe()
    for name, address in reports(shown):
        at.seen(width=360)
        opened(at, address)
        assert violations(at) == [], name
        at.seen(width=1000, dark=True)
        assert violations(at, *DARK_RULES) == [], f"{name}, dark"


def test_the_theme_is_the_reader_s(at: Tab, shown: dict[str, str]) -> None:
    for address in (shown["overview"], shown["report of a run"]):
        for dark, paper in ((False, "rgb(251, 251, 252)"), (True, "rgb(15, 17, 20)")):
            at.seen(dark=dark)
            at.go(address)
            assert at.ask_page("getComputedStyle(document.body).backgroundColor") == paper


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("report of a run", FELL),
        ("report of a benchmark", FELL),
        (
            "report of two runs",
            "Support quality: regressed; 6 newly failing, of 12 comparable cases; passed 11 → 5 of 12.",
        ),
        (
            "report of a comparison",
            WORSE,
        ),
        ("finished run", FELL),
        ("benchmark", FELL),
        ("run in progress", "Tone of voice waits for 2 outputs to be judged; 1 of 3 is judged."),
    ],
)
def test_the_answer_comes_first_in_one_sentence(at: Tab, shown: dict[str, str], page: str, sentence: str) -> None:
    at.go(shown[page])
    read = cast("str", at.ask_page("document.body.innerText.slice(document.body.innerText.indexOf('Support'))"))
    first = cast("str", at.ask_page("(document.querySelector('.says') ?? document.querySelector('h1')).innerText"))
    assert first.startswith(sentence)
    if page in {"finished run", "benchmark"}:
        assert "95 %" not in read[: read.index(FELL)], "before all figures"


@pytest.mark.parametrize("page", ["benchmark", "report of a benchmark"])
def test_the_trend_shows_its_break_its_intervals_and_its_regression(at: Tab, shown: dict[str, str], page: str) -> None:
    at.go(shown[page])
    assert at.ask_page("document.querySelectorAll('svg.trend .ci').length") == 5, "an interval for each run"
    drawn = (
        "[...document.querySelectorAll('svg path.line')].filter((one) => one.getAttribute('d').includes('L')).length"
    )
    assert at.ask_page(drawn) == 2, "the line is broken where the rubric was changed"
    words = cast(
        "list[str]", at.ask_page("[...document.querySelectorAll('svg.trend text')].map((one) => one.textContent)")
    )
    assert words.count("▼ regression") == 1
    assert words.count("new series") == 1
    table = cast("str", at.ask_page("document.querySelector('[aria-label=\"runs of the history\"] table').textContent"))
    assert "▼ regression" in table
    assert "new series" in table
    assert "0.193–0.680" in table


@pytest.mark.parametrize("page", ["overview", "benchmark", "report of a benchmark"])
def test_a_narrow_screen_shows_the_regression_without_being_scrolled_sideways(
    at: Tab, shown: dict[str, str], page: str
) -> None:
    at.seen(width=360)
    at.go(shown[page])
    assert at.ask_page(IN_SIGHT.format(MARKED))


def test_two_runs_stand_side_by_side_with_what_was_left_out_and_what_was_added(at: Tab, shown: dict[str, str]) -> None:
    at.go(f"{shown['report of two runs']}#kind=newly-failing&open")
    sides = "[...document.querySelector('.sides').children].map((one) => Math.round(one.getBoundingClientRect().top))"
    tops = cast("list[int]", at.ask_page(sides))
    assert len(tops) == 2
    assert tops[0] == tops[1]
    assert at.ask_page("document.querySelectorAll('.sides')[0].children[0].querySelectorAll('del').length > 0")
    assert at.ask_page("document.querySelectorAll('.sides')[0].children[1].querySelectorAll('ins').length > 0")
    at.seen(width=360)
    tops = cast("list[int]", at.ask_page(sides))
    assert tops[0] < tops[1], "one below the other where there is no room"


def test_every_report_filters_and_searches_while_one_types(at: Tab, shown: dict[str, str]) -> None:
    for name in REPORTS:
        at.go(shown[f"report of {name}"])
        at.ask_page("document.getElementById('q').focus()")
        at.type("gift")
        at.until("document.getElementById('count').textContent === '1 of 12 shown'")
        assert at.ask_page("location.hash") == "#q=gift"


MATRIX = """
prompts: ["Say {{word}}", "Shout {{ word | upper }}!"]
providers: [echo]
tests:
  - {vars: {word: cat}, assert: [{type: contains, value: CAT}, {type: icontains, value: "<b>cat"}]}
  - {vars: {word: dog}, assert: [{type: contains, value: DOG}]}
  - {vars: {word: owl}, assert: [{type: icontains, value: owl}]}
"""
ROWS = "[...document.querySelectorAll('.matrix tbody tr')].filter((row) => row.checkVisibility()).length"


def test_the_file_of_an_evaluation_is_filtered_without_a_script_and_axe_finds_nothing(at: Tab, tmp_path: Path) -> None:
    require_axe()
    terminal = Terminal(tmp_path)
    terminal.file("c.yaml", MATRIX)
    assert terminal.run("eval", "c.yaml", "-o", "m.html").code == 0
    at.seen(width=1000)
    at.go((tmp_path / "m.html").as_uri())
    assert at.ask_page(ROWS) == 3
    for shown, rows in (("failed", 2), ("differ", 1), ("all", 3)):
        at.ask_page(f"document.querySelector('#show-{shown}').click()")
        assert at.ask_page(ROWS) == rows, shown
    for width, dark in SCREENS:
        at.seen(width=width, dark=dark)
        assert violations(at, *(DARK_RULES if dark else ())) == [], (width, dark)
        assert cast("float", at.ask_page(WIDER)) <= 0, width
    assert at.complaints() == []
