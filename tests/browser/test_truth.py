"""What the page states at a glance is true: verdicts, states and causes, on stores where they are easily confused."""

from __future__ import annotations

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
    assert chips == ["▼ regressed", "▼ fall", "▼ fell by more than the limit", "ended"]
    ended = "[...document.querySelectorAll('.pill')].filter((one) => one.textContent === 'ended')"
    at.go(showing["cliff runs"])
    assert at.ask_page(f"{ended}.length") == 12
    assert at.ask_page(f"{ended}.every((one) => one.className === 'pill')") is True


def test_the_overview_states_the_verdict_and_the_change_of_level(at: Tab, showing: dict[str, str]) -> None:
    at.go(showing["cliff overview"])
    row = text_of(at, "tbody tr")
    assert "▼ regressed" not in row, "the newest run is on the level of the one before"
    assert "the level fell by" in row
