"""Many cases: whatever their number, a browser is given a page of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.conftest import Once
from tests.shared.browser.driver import Chromium, Tab
from tests.shared.report.hostile import written
from tests.shared.view.process import viewing
from tests.workshop import config_in, first, fleet, measured, opened

COUNT = "document.getElementById('count').textContent"
ROWS = "document.querySelectorAll('#cases details').length"


@pytest.fixture(scope="module")
def many(browser: Chromium, once: Once) -> Iterator[dict[str, str]]:
    """The addresses of a run of 120 cases, of which 20 failed, and of its report."""
    del browser  # without one nothing is made

    async def filled(folder: Path) -> None:
        async with opened(config_in(folder)) as engine:
            await fleet(engine, 120)
            await measured(engine, "v", first(100, 120))
            (folder / "report.html").write_text(await written(engine, ".html", "b"), encoding="utf-8")

    folder = once("many", filled)
    with viewing(folder) as page:
        yield {"page": page.at("/run?id=job1"), "report": (folder / "report.html").as_uri()}


def test_the_address_of_a_report_filters_searches_and_turns_pages(at: Tab, many: dict[str, str]) -> None:
    for address, count, cases in (
        ("", "120 of 120 shown", 50),
        ("#page=3", "120 of 120 shown", 20),
        ("#status=failed", "20 of 120 shown", 20),
        ("#status=passed&q=c99", "1 of 120 shown", 1),
        ("#q=nowhere", "0 of 120 shown", 0),
    ):
        at.go(many["report"] + address)
        at.until(f"{COUNT} === '{count}'")
        assert at.ask_page(ROWS) == cases
    assert at.complaints() == []


def test_the_pages_of_a_report_are_turned_by_keyboard(at: Tab, many: dict[str, str]) -> None:
    at.go(many["report"])
    for page, cases in (("page 2 of 3", 50), ("page 3 of 3", 20)):
        at.ask_page("document.getElementById('on').focus()")
        at.press("Enter")
        assert at.ask_page("document.getElementById('page').textContent") == page
        assert at.ask_page(ROWS) == cases
    assert at.ask_page("document.getElementById('on').disabled")
    at.ask("Page.reload")
    at.loads()
    assert at.ask_page("document.getElementById('page').textContent") == "page 3 of 3", "the address keeps the page"


def test_the_pages_of_a_run_are_turned_by_keyboard(at: Tab, many: dict[str, str]) -> None:
    at.go(many["page"])
    for rows, turn in ((100, "next"), (20, "prev"), (100, "")):
        at.until(f"document.querySelectorAll('#cases tbody tr').length === {rows}")
        if turn:
            at.ask_page(f"document.querySelector('a[rel={turn}]').focus()")
            at.press("Enter")
    assert at.complaints() == []


def test_a_filter_exchanges_the_table_alone_keeps_the_focus_and_needs_no_eval_and_no_inline_style(
    at: Tab, many: dict[str, str]
) -> None:
    at.go(many["page"])
    at.ask_page("window.same = true; document.getElementById('cases-status').focus()")
    at.ask_page(
        "(one => { one.value = 'failed'; one.dispatchEvent(new Event('change', {bubbles: true})) })(document.activeElement)"
    )
    at.until("document.querySelectorAll('#cases tbody tr').length === 20")
    assert at.ask_page("[window.same, location.search, document.activeElement.id]") == [
        True, "?id=job1&status=failed", "cases-status",
    ]  # fmt: skip
    assert at.ask_page("[htmx.config.allowEval, document.querySelectorAll('style, [style]').length]") == [False, 0]
    at.ask_page("history.back()")
    at.loads()
    at.until("document.querySelectorAll('#cases tbody tr').length === 100")
    assert at.ask_page("location.search") == "?id=job1"
    assert at.complaints() == []
