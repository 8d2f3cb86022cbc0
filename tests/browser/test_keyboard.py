"""Everything can be done without a mouse: each control is reached in order, is seen to have the focus, and works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import anyio
import pytest

from tests.browser.gallery import TWICE
from tests.shared.browser.driver import Chromium, Tab, tab
from tests.shared.view.process import viewing
from tests.shared.view.visitor import token_of, waiting
from tests.workshop import config_in, opened

CTRL = 2
LISTED = """
[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
  .filter((one) => !one.disabled && one.tabIndex >= 0 && one.checkVisibility({visibilityProperty: true}))
  .filter((one) => one.type !== "radio" || one === document.querySelector(`input[name="${one.name}"]`))
"""
FOCUSED = """
((one) => {
  const style = getComputedStyle(one), box = one.getBoundingClientRect();
  if (!window.listed.includes(one)) window.listed = LISTED;
  return {
    at: window.listed.indexOf(one), seen: style.outlineStyle !== "none" && Number.parseFloat(style.outlineWidth) >= 2,
    inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth, html: one.outerHTML.slice(0, 200),
  };
})(document.activeElement)
""".replace("LISTED", f"({LISTED.strip()})")


@pytest.mark.parametrize("width", [1000, 360])
def test_tab_reaches_each_control_in_order_and_the_focus_is_seen(at: Tab, shown: dict[str, str], width: int) -> None:
    at.seen(width=width)
    for name, address in shown.items():
        if name in TWICE:
            continue
        at.go(address)
        count = cast("int", at.ask_page(f"(window.listed = {LISTED}).length"))
        for number in range(count):
            at.press("Tab")
            focused = cast("dict[str, object]", at.ask_page(FOCUSED))
            assert (focused["at"], focused["seen"], focused["inside"]) == (number, True, True), (name, focused["html"])


def test_the_first_control_skips_to_the_content(at: Tab, shown: dict[str, str]) -> None:
    at.go(shown["overview"])
    at.press("Tab")
    at.press("Enter")
    assert at.ask_page("document.activeElement.id") == "main"


def test_enter_opens_a_case_of_a_report_and_closes_it(at: Tab, shown: dict[str, str]) -> None:
    at.go(shown["report of a run"])
    at.ask_page("document.getElementById('cause').focus()")
    at.press("Tab")
    at.press("Enter")
    at.until("document.querySelector('#cases details[open] .inside')")
    assert "Input: message" in cast("str", at.ask_page("document.querySelector('#cases .inside').innerText"))
    at.press("Enter")
    at.until("!document.querySelector('#cases details[open]')")


def test_enter_follows_a_case_on_the_page_of_a_run(at: Tab, shown: dict[str, str]) -> None:
    at.go(shown["finished run"])
    at.ask_page(
        "[...document.querySelectorAll('table.rows tbody a')].find((one) => one.textContent.includes('Refund inside')).focus()"
    )
    at.press("Enter")
    at.loads()
    assert at.ask_page("document.querySelector('h1').textContent") == "Refund inside 30 days"
    assert at.complaints() == []


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The addresses of a queue with two outputs, and of the run that they belong to."""

    async def filled() -> str:
        async with opened(config_in(tmp_path)) as engine:
            return (await waiting(engine, 2)).id

    run_id = anyio.run(filled)
    with viewing(tmp_path) as page:
        yield page.at("/judge"), page.at(f"/run?id={run_id}")


def judge(at: Tab, *, scores: tuple[str, str], by: str = "") -> None:
    """Fills in the form from where the focus is, field by field, and hands it in."""
    first, second = scores
    at.ask_page("document.querySelector('form input[type=number]').focus()")
    at.type(first)
    at.press("Tab")
    at.type(f"Because of {first}.")
    at.press("Tab")
    at.press(second)
    at.type(f"Because of {second}.")
    at.press("Tab")
    if by:
        at.type(by)
    at.press("Enter", modifiers=CTRL)


def test_a_person_judges_by_keyboard_and_a_page_that_looks_on_follows(
    at: Tab, browser: Chromium, queue: tuple[str, str]
) -> None:
    form, run = queue
    with tab(browser) as onlooker:
        onlooker.go(run)
        assert "0 of 2" in cast("str", onlooker.ask_page("document.querySelector('[aria-label=result]').innerText"))
        at.go(form)
        judge(at, scores=("9", "4"), by=token_of("anna"))
        assert at.ask_page("document.querySelector('input:invalid').value") == "9", "out of range: the browser says so"
        at.ask_page("document.querySelector('form input[type=number]').value = ''")
        judge(at, scores=("0.5", "4"))
        at.loads()
        assert "Saved. Here is the next one." in cast("str", at.ask_page("document.body.innerText"))
        assert at.ask_page("document.querySelector('[name=personToken]').required") is False, (
            "the browser keeps the token"
        )
        onlooker.until("document.querySelector('[aria-label=result]').innerText.includes('1 of 2')")
        judge(at, scores=("1", "5"))
        at.loads()
        assert "That was the last one" in cast("str", at.ask_page("document.body.innerText"))
        onlooker.loads()  # the whole page is made anew once the run has ended
        assert "2 of 2 passed" in cast("str", onlooker.ask_page("document.querySelector('.answer').innerText"))
        assert onlooker.complaints() == []
    assert at.complaints() == []


NOT_SENT = """
new Promise((done) => document.addEventListener("htmx:afterRequest", ({detail}) => {
  if (detail.xhr.status === 304 && detail.pathInfo.requestPath.startsWith("/cases")) done(detail.pathInfo.requestPath);
}))
"""


def test_a_filtered_table_of_a_run_in_progress_is_asked_for_as_it_is_shown_and_sent_when_it_changed(
    at: Tab, queue: tuple[str, str]
) -> None:
    at.go(queue[1])
    at.ask_page("(form => { form.q.value = 'zzz'; form.requestSubmit() })(document.querySelector('#cases form'))")
    at.until("location.search.endsWith('&q=zzz')")
    assert "q=zzz" in cast("str", at.ask_page(NOT_SENT))
    assert at.ask_page("document.querySelector('#cases [name=q]').value") == "zzz"
    assert at.complaints() == []


def test_what_was_begun_is_there_after_a_reload_and_undo_takes_it_back(at: Tab, shown: dict[str, str]) -> None:
    at.go(shown["queue"])
    at.ask_page("document.querySelector('textarea').focus()")
    at.type("So far so good")
    at.press("Tab")
    at.ask("Page.reload")
    at.loads()
    assert at.ask_page("document.querySelector('textarea').value") == "So far so good"
    at.ask_page("document.querySelector('[data-undo]').focus()")
    at.press("Enter")
    assert at.ask_page("document.querySelector('textarea').value") == ""
    at.ask_page("document.querySelector('[type=password]').focus()")
    at.type("person-of-mine")
    at.press("Tab")
    assert "person-of-mine" not in cast("str", at.ask_page("JSON.stringify(sessionStorage)"))


def test_ctrl_k_goes_to_what_is_called_so(at: Tab, shown: dict[str, str]) -> None:
    at.go(shown["failures"])
    for typed, heading in (
        ("refund ins", "Refund inside 30 days"),
        ("quality", "Support quality"),
        ("costs", "What runs cost"),
    ):
        at.press("k", modifiers=CTRL)
        at.until("document.querySelector('#find[open] .found a')")
        at.type(typed)
        at.until(
            f"[...document.querySelectorAll('#find .found a')].every((one) => one.innerText.toLowerCase().includes({typed!r}))"
        )
        at.press("Enter")
        at.loads()
        assert heading in cast("str", at.ask_page("document.querySelector('h1').textContent"))
    assert at.complaints() == []


def test_the_palette_is_walked_by_arrows_and_closed_by_escape(at: Tab, shown: dict[str, str]) -> None:
    at.go(shown["overview"])
    at.press("k", modifiers=CTRL)
    at.until("document.querySelector('#find[open] .found a')")
    at.press("ArrowDown")
    at.press("ArrowDown")
    assert at.ask_page("document.activeElement === document.querySelectorAll('#find .found a')[1]")
    at.press("ArrowUp")
    at.press("ArrowUp")
    assert at.ask_page("document.activeElement === document.querySelector('#find input')")
    at.press("Escape")
    at.until("!document.querySelector('#find').open")
