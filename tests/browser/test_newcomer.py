"""Somebody who sees the page for the first time: five questions, each answered within two clicks, and every way by key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from tests.bench.pages.rich_store import rich_store
from tests.browser.conftest import Once
from tests.shared.browser.driver import Chromium, Tab
from tests.shared.view.process import viewing

SMALL = 0.4
"""A week of the fortnight that the tour shows, over half of its cases."""


@pytest.fixture(scope="module")
def home(browser: Chromium, once: Once) -> Iterator[str]:
    """The address of the overview of a store with a regression that nobody has made good."""
    del browser  # without one nothing is made
    folder: Path = once("newcomer", partial(rich_store, scale=SMALL))
    with viewing(folder) as page:
        yield page.at("/")


def read(at: Tab, selector: str) -> str:
    """What is read there."""
    return cast("str", at.ask_page(f"document.querySelector({selector!r}).innerText"))


def click(at: Tab, selector: str) -> None:
    """Follows that link."""
    at.ask_page(f"document.querySelector({selector!r}).click()")
    at.loads()


def test_what_got_worse_and_since_when_stand_at_the_top(at: Tab, home: str) -> None:
    at.go(home)
    alarm = read(at, ".attention li.bad")
    assert "Support answers fell" in alarm
    assert "on 11 Nov" in alarm
    assert "with support-reply@3 after support-reply@2" in alarm


def test_whether_it_is_real_and_why_is_one_click_away_and_a_case_that_shows_it_two(at: Tab, home: str) -> None:
    at.go(home)
    assert "regressed" in read(at, ".attention li.bad")
    click(at, ".attention li.bad a.go")
    answer = read(at, ".answer")
    assert "support-reply@3 regressed" in answer
    assert "Changed since: the version: support-reply@2 → support-reply@3" in answer
    assert "mostly wrong-output" in answer
    assert at.ask_page("document.querySelectorAll('svg.difference .range.bad').length") == 1
    click(at, "#h-changed ~ ol a, [aria-labelledby=h-changed] ol a")
    assert "✗ failed" in read(at, ".glance")
    assert "passed in the run before" in read(at, ".glance")
    assert "Says whether we can help" in read(at, ".checks tbody tr")
    assert at.complaints() == []


def test_which_version_to_ship_is_told_and_one_click_shows_the_evidence(at: Tab, home: str) -> None:
    at.go(home)
    decided = "[aria-labelledby=h-decided] li:last-child"
    assert "Keep support-reply@2: support-reply@3 is worse" in read(at, decided)
    click(at, f"{decided} a")
    assert "support-reply@3" in read(at, ".says")
    assert "lower than support-reply@2" in read(at, ".says")
    assert at.ask_page("document.querySelectorAll('svg.difference .range').length") == 1


def test_a_finished_config_stands_on_the_first_page_and_opens_to_the_cell(at: Tab, home: str) -> None:
    at.go(home)
    row = "tr:has(a[href^='/matrix'])"
    assert "eval of a config: 9 columns" in read(at, row)
    assert "no finished run yet" not in read(at, row)
    click(at, f"{row} a")
    assert "scored highest" in read(at, ".says")
    assert at.ask_page("document.querySelectorAll('table.matrix thead th').length") == 10
    at.ask_page("document.querySelector('table.matrix a.cell').click()")
    at.until("document.querySelector('#drawer').open")
    assert "Capital of" in read(at, "#drawer h2")
    assert read(at, "#drawer .glance").startswith("input")
    first = read(at, "#drawer h2")
    at.press("ArrowRight")
    at.until(f"document.querySelector('#drawer h2').innerText !== {first!r}")
    at.press("Escape")
    at.until("!document.querySelector('#drawer').open")
    at.until(
        "document.activeElement.matches('td:nth-child(3) a.cell')"
    )  # back at the cell that was shown, once it is closed
    at.press("Enter")
    at.until("document.querySelector('#drawer').open")
    click(at, "[data-whole-case]")
    assert "Capital of" in read(at, "h1")
    assert at.complaints() == []


def test_every_way_is_there_by_key(at: Tab, home: str) -> None:
    at.go(home)
    at.press("?")
    assert at.ask_page("document.querySelector('#keys').open")
    at.press("Escape")
    assert not at.ask_page("document.querySelector('#keys').open")
    at.ask_page("document.activeElement.blur()")
    at.press("/")
    at.type("research")
    rows = "[...document.querySelectorAll('[aria-labelledby=h-benchmarks] tbody tr')]"
    assert at.ask_page(f"{rows}.filter((one) => one.checkVisibility()).length") == 1, "only what is looked for is left"
    at.go(cast("str", at.ask_page("location.href")))
    assert at.ask_page(f"{rows}.filter((one) => one.checkVisibility()).length") == 1, "the address keeps it"
    at.go(home)
    at.ask_page("document.activeElement.blur()")
    at.press("j")
    assert at.ask_page("document.activeElement.closest('li, tr') !== null"), "the first row has the focus"
    at.press("Enter")
    at.loads()
    at.press("u")
    at.loads()
    assert read(at, "h1") == "Support answers"
    click(at, "[aria-label='runs of the history'] a")
    newest = at.ask_page("location.search")
    at.press("/")
    assert at.ask_page("document.activeElement.type") == "search"
    at.type("refund")
    at.press("Enter")
    at.until("location.search.includes('q=refund') && !document.querySelector('[aria-busy=true]')")
    assert at.ask_page("document.activeElement.tagName") in {"BODY", "INPUT"}
    at.ask_page("document.activeElement.blur()")
    at.press("[")
    at.loads()
    assert at.ask_page("location.search") != newest
    at.press("]")
    at.loads()
    assert at.ask_page("location.search") == newest
    assert at.complaints() == []
