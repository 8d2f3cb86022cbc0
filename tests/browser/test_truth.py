"""What the page states at a glance is true: verdicts, states and causes, on stores where they are easily confused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

import pytest

from tests.browser import showcase
from tests.browser.conftest import Once
from tests.shared.browser.driver import Chromium, Tab
from tests.shared.view.process import viewing


@pytest.fixture(scope="module")
def showing(browser: Chromium, once: Once) -> Iterator[dict[str, str]]:
    """The addresses of the pages of the showcase."""
    del browser  # without one nothing is made
    with viewing(once("showcase", showcase.filled)) as page:
        yield {name: page.at(address) for name, address in showcase.PAGES.items()}


def text_of(at: Tab, selector: str) -> str:
    """The text of all elements that fit, a line for each."""
    found = at.ask_page(f"[...document.querySelectorAll({selector!r})].map((one) => one.innerText).join('\\n')")
    return cast("str", found)


@pytest.mark.parametrize(("page", "verdict"), [("cliff run", "regressed"), ("cliff benchmark", "has not recovered")])
def test_no_tick_stands_over_a_fall(at: Tab, showing: dict[str, str], page: str, verdict: str) -> None:
    at.go(showing[page])
    answer = text_of(at, ".answer")
    assert verdict in answer
    assert "✓" not in answer
    assert at.ask_page("document.querySelector('.answer').classList.contains('bad')") is True


def test_the_state_of_a_run_is_grey_and_apart_from_the_verdict(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["cliff run"])
    chips = text_of(at, ".answer .pill").split("\n")
    assert "regressed" in text_of(at, ".answer .says"), "the verdict stands in the sentence, and no chip repeats it"
    assert chips == ["▼ fall", "▼ dropped by more than the limit", "ended"]
    ended = "[...document.querySelectorAll('.pill')].filter((one) => one.textContent === 'ended')"
    at.go(showing["cliff runs"])
    assert cast("int", at.ask_page(f"{ended}.length")) >= 12
    assert at.ask_page(f"{ended}.every((one) => one.className === 'pill')") is True


def test_the_overview_states_the_verdict_and_the_change_of_level(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["cliff overview"])
    row = text_of(at, "tbody tr")
    assert "▼ regressed" not in row, "the newest run is on the level of the one before"
    assert "the level fell by" in row


def test_the_first_screen_of_a_case_shows_what_was_wanted_and_found_before_any_cause(
    at: Tab, showing: dict[str, str]
) -> None:
    at.seen(width=1440, height=900)
    at.go(showing["markdown output"])
    told = "[...document.querySelectorAll('.checks tbody tr')].map((row) => [...row.cells].map((one) => one.textContent.trim()))"
    rows = cast("list[list[str]]", at.ask_page(told))
    assert rows[0][1:3] == ["cancel", "contains 'cancel' (any case)"]
    assert [" ".join(row[0].split()) for row in rows] == [
        "✗ failed not-icontains", "✗ failed word-count", "✓ passed icontains", "✓ passed javascript",
    ]  # fmt: skip
    top = "((one) => one.getBoundingClientRect().top)(document.querySelector({!r}))"
    assert cast("float", at.ask_page(top.format(".checks tbody tr"))) < 400
    assert cast("float", at.ask_page(top.format("#h-cause"))) > cast("float", at.ask_page(top.format("#output")))


def test_a_cause_names_no_check_that_passed_and_a_weak_one_is_not_known(at: Tab, showing: dict[str, str]) -> None:
    for page, cause in (
        ("markdown output", "Likely cause"),
        ("json output", "Cause: unknown"),
        ("python output", "Cause: unknown"),
    ):
        at.go(showing[page])
        text = text_of(at, "section[aria-labelledby=h-cause]")
        assert text.startswith(cause), page
        assert "javascript" not in text
        assert "hallucination" not in text


def test_an_output_is_rendered_and_nothing_of_it_can_act(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["markdown output"])
    shown = "document.querySelector('.pane-rendered')"
    assert at.ask_page(f"{shown}.querySelectorAll('table td').length") == 4
    assert at.ask_page(f"{shown}.querySelector('.hl .nf').textContent") == "total"
    assert at.ask_page(f"{shown}.querySelectorAll('a, img, script, h1, h2').length") == 0
    at.ask_page("document.querySelector('#as-text').click()")
    assert "## Refund of order" in text_of(at, ".pane-text")
    assert at.ask_page(f"getComputedStyle({shown}).display") == "none"
    at.go(showing["json output"])
    assert at.ask_page("document.querySelectorAll('.pane-rendered .tree').length") == 5
    at.go(showing["conversation"])
    assert at.ask_page("[...document.querySelectorAll('.bubble')].map((one) => one.className)") == [
        "bubble system", "bubble user", "bubble assistant", "bubble user", "bubble assistant",
    ]  # fmt: skip
    assert at.complaints() == []


def test_the_difference_to_what_was_expected_has_an_address(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["markdown beside expected"])
    assert "was sent" in text_of(at, "#output del")
    assert "its way" in text_of(at, "#output ins")


def test_sixty_steps_fit_one_screen_and_are_walked_by_keys(at: Tab, showing: dict[str, str]) -> None:
    at.seen(width=1440, height=900)
    at.go(showing["long trajectory"])
    height = "document.querySelector('.outline').scrollHeight"
    assert cast("float", at.ask_page(height)) <= 900 - 150
    assert at.ask_page("document.querySelectorAll('.outline > ol > li').length") == 56, "five equal calls are one"
    shown = "[...document.querySelectorAll('.step-view article')].filter((one) => one.checkVisibility()).map((one) => one.id).join()"
    at.go(f"{showing['long trajectory']}#step-17")
    assert at.ask_page(shown) == "step-17"
    for key, step in (("j", "step-18"), ("k", "step-17"), ("e", "step-31"), ("e", "step-48"), ("e", "step-31")):
        at.press(key)
        at.until(f"{shown} === {step!r}")
    assert at.ask_page("location.hash") == "#step-31"
    assert at.complaints() == []


def test_of_five_hundred_steps_a_window_is_sent_and_every_step_is_reached(at: Tab, showing: dict[str, str]) -> None:
    at.seen(width=1440, height=900)
    shown = "[...document.querySelectorAll('.step-view article')].filter((one) => one.checkVisibility()).map((one) => one.id).join()"
    at.go(f"{showing['endless trajectory']}#step-317")
    at.until(f"{shown} === 'step-317'")
    assert at.ask_page("document.querySelectorAll('.step-view article').length") == 40
    assert at.ask_page("document.querySelectorAll('[data-navigator] .call').length") == 500
    for key, step in (("j", "step-318"), ("e", "step-31"), ("k", "step-30")):
        at.press(key)
        at.until(f"{shown} === {step!r}")
        assert at.ask_page("document.querySelector('.call.now').hash") == f"#{step}"
    address = cast("str", at.ask_page("document.querySelector('.call[data-step=\"490\"]').href"))
    assert address.endswith("&step=490#step-490"), "without script the address brings the step, too"
    at.ask_page("document.querySelector('.call[data-step=\"490\"]').click()")
    at.until(f"{shown} === 'step-490'")
    assert at.ask_page("location.hash") == "#step-490"
    assert at.complaints() == []


@pytest.mark.parametrize("step", [17, 22, 24, 60])
def test_the_outline_marks_the_step_of_the_address_also_where_it_is_folded_away(
    at: Tab, showing: dict[str, str], step: int
) -> None:
    now = "[...document.querySelectorAll('.call.now')].map((one) => [one.dataset.step, one.checkVisibility()])"
    at.go("about:blank")
    at.go(f"{showing['long trajectory']}#step-{step}")
    assert at.ask_page(now) == [[str(step), True]]
    at.go(f"{showing['long trajectory']}#step-3")
    at.until(f"JSON.stringify({now}) === '[[\"3\",true]]'")
    at.ask_page(f"location.hash = '#step-{step}'")
    at.until(f"JSON.stringify({now}) === '[[\"{step}\",true]]'")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("sealed benchmark", "Sealed: its cases and the results of its runs are hidden. 7 runs ended so far."),
        ("compared benchmark", "No benchmark run yet: 1 comparison ended."),
        ("branches benchmark", "No benchmark run yet: 1 A/B test ended."),
    ],
)
def test_a_benchmark_that_only_one_kind_of_run_has_used_says_so(
    at: Tab, showing: dict[str, str], page: str, sentence: str
) -> None:
    at.go(showing[page])
    assert sentence in text_of(at, ".answer")
    assert "None of its runs has ended" not in text_of(at, "main")
    at.go(showing["cliff overview"])
    assert "no finished run yet" not in text_of(at, "main")
    assert "no run yet" not in text_of(at, "main")
    assert sentence in text_of(at, "tbody")


def test_branches_that_tie_have_no_winner(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["branches"])
    assert "No winner by quality: all 8 cases tie." in text_of(at, ".answer")
    assert "wins by" not in text_of(at, "main")


def test_the_theme_that_a_reader_chooses_stays(at: Tab, showing: dict[str, str]) -> None:
    at.seen(dark=True)
    at.go(showing["cliff runs"])
    paper = "getComputedStyle(document.body).backgroundColor"
    assert at.ask_page(paper) == "rgb(15, 17, 20)"
    at.ask_page("document.querySelector('[data-theme-switch]').click()")
    assert at.ask_page(paper) == "rgb(251, 251, 252)"
    at.go(showing["cliff run"])
    assert at.ask_page(paper) == "rgb(251, 251, 252)"
    at.seen()
    at.ask_page("document.querySelector('[data-theme-switch]').click()")
    assert at.ask_page(paper) == "rgb(15, 17, 20)"
    at.ask_page("document.querySelector('[data-theme-switch]').click()")
    assert at.ask_page(paper) == "rgb(251, 251, 252)", "as the system"


def test_two_ticked_runs_are_compared_and_the_address_keeps_the_facets(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["cliff runs"])
    toolbar = text_of(at, "#runs .toolbar")
    kinds = [
        int(count) for count in re.findall(r"(?:benchmark|A/B test|comparison of two versions) \((\d+)\)", toolbar)
    ]
    assert (toolbar.split("\n")[0], len(kinds)) == (f"{sum(kinds)} runs", 3)
    at.ask_page(
        "(one => { one.value = 'ab-test'; one.dispatchEvent(new Event('change', {bubbles: true})) })(document.querySelector('#runs-kind'))"
    )
    at.until("location.search.includes('kind=ab-test') && document.querySelectorAll('#runs tbody tr').length === 1")
    at.go(showing["cliff runs"])
    rows = "[...document.querySelectorAll('#runs tbody tr')].filter((one) => one.textContent.includes('Refunds'))"
    ticks = f"{rows}.map((one) => one.querySelector('[type=checkbox]'))"
    at.ask_page(f"(list => {{ list[5].click(); list[6].click(); }})({ticks})")
    at.ask_page("document.querySelector('.compare button').click()")
    at.loads()
    assert "/comparison" in cast("str", at.ask_page("location.pathname"))
    assert "This run regressed: the level fell by 0.277 on 7 Dec 2026;" in text_of(at, ".answer")


def test_a_view_of_the_runs_is_saved_under_a_name_opened_again_and_removed(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["cliff runs"])
    at.ask_page("document.querySelector('#runs [name=q]').focus()")
    at.type("score<0.68 -is:fall")
    at.press("Enter")
    at.until("location.search.includes('q=score') && document.querySelector('.save-view')")
    shown = cast("int", at.ask_page("document.querySelectorAll('#runs tbody tr').length"))
    at.ask_page("document.querySelector('.save-view input').focus()")
    at.type("low")
    at.press("Enter")
    at.until("document.querySelector('.view')?.textContent === 'low'")
    at.go(showing["cliff runs"])
    at.ask_page("document.querySelector('.view').click()")
    at.loads()
    assert at.ask_page("document.querySelectorAll('#runs tbody tr').length") == shown
    assert at.ask_page("document.querySelector('.view').getAttribute('aria-current')") == "true"
    at.ask_page("document.querySelector('[data-gone]').click()")
    assert at.ask_page("document.querySelectorAll('.view').length") == 0
    assert at.complaints() == []


def test_the_heads_of_columns_stay_in_sight(at: Tab, showing: dict[str, str]) -> None:
    at.seen(width=1440, height=700)
    at.go(showing["cliff runs"])
    table = "document.querySelector('.heads-stay')"
    at.ask_page(f"{table}.scrollTop = {table}.scrollHeight")
    assert cast("float", at.ask_page(f"{table}.scrollTop")) > 50
    top = f"{table}.querySelector('thead th').getBoundingClientRect().top - {table}.getBoundingClientRect().top"
    assert abs(cast("float", at.ask_page(top))) <= 1


def test_the_first_case_of_a_run_is_on_the_first_screen(at: Tab, showing: dict[str, str]) -> None:
    at.seen(width=1440, height=900)
    at.go(showing["cliff run"])
    assert cast("float", at.ask_page("document.querySelector('#cases tbody tr').getBoundingClientRect().top")) < 300


def test_a_filter_is_walked_case_by_case_and_left_at_the_same_row(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["cliff run"])
    at.ask_page("location.assign(`${location.pathname}${location.search}&status=newly-passing`)")
    at.loads()
    at.ask_page("document.querySelector('#cases tbody a').click()")
    at.loads()
    assert "1 of 4 newly passing" in text_of(at, ".actions")
    for number in (2, 3):
        at.press("j")
        at.loads()
        assert f"{number} of 4" in text_of(at, ".actions")
    case = text_of(at, "h1")
    at.ask_page(
        "[...document.querySelectorAll('.actions a')].find((one) => one.textContent === 'back to the list').click()"
    )
    at.loads()
    assert "status=newly-passing" in cast("str", at.ask_page("location.search"))
    assert at.ask_page("document.querySelector(location.hash).textContent") == case
    assert at.ask_page("document.querySelectorAll('#cases tbody tr').length") == 4
