"""What holds of every page, in two themes and three widths; the pages are the gallery's, and no route of `view` is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast
from urllib.parse import urlsplit

import pytest

from minions_evals_mcp.view.app import routes
from tests.browser import gallery, showcase
from tests.browser.axe import ALIKE, require_axe, violations
from tests.browser.conftest import Once
from tests.browser.pictures import HEIGHT, WIDTHS
from tests.shared.browser.driver import Chromium, Tab
from tests.shared.view.process import viewing

PAGES = {f"gallery: {name}": page for name, page in gallery.PAGES.items()} | {
    f"showcase: {name}": page for name, page in showcase.PAGES.items() if name != "endless trajectory"
}
"""The endless trajectory is the long one with more of the same, which axe reads for a minute."""
PARTS = {
    "/running": "a part of the overview", "/production/live": "a part of a page", "/metrics": "no page: Prometheus reads it",
    "/progress": "a part of a run", "/cases": "a part of a run", "/find": "a part of every page",
    "/compare": "leads on to /comparison", "/stop": "a form's end", "/promote": "a form's end", "/label": "a form's end",
    "/user": "a form's end", "/note": "a form's end",
    "/page.css": "a file", "/page.js": "a file", "/theme.js": "a file", "/trend.js": "a file", "/htmx.js": "a file",
    "/uplot.js": "a file", "/inter.woff2": "a file", "/jetbrains-mono.woff2": "a file",
}  # fmt: skip
"""The addresses that are no page of their own."""
DARK_RULES = ("color-contrast", "link-in-text-block")
"""What a theme can break; all else stands in the markup, which has one form."""
WIDTH_RULES = (*DARK_RULES, "scrollable-region-focusable", "target-size")
"""What a width between the widest and the narrowest can break: its markup is that of one of them."""
LINES = "new Set([...document.querySelectorAll('nav.main a')].map((one) => one.offsetTop)).size"
EQUAL = """(() => { let equal = 0;
  for (const body of document.querySelectorAll('tbody')) { const seen = new Map();
    for (const one of body.querySelectorAll('tr > td time[datetime]')) {
      const key = `${one.closest('td').cellIndex} ${one.textContent}`, second = one.dateTime.slice(0, 19);
      if ((seen.get(key) ?? second) !== second) equal += 1;
      seen.set(key, second); } }
  return equal; })()"""
WIDER = "document.documentElement.scrollWidth - innerWidth"
SIZES = """[...new Set([...document.querySelectorAll("body *")].filter((one) => !one.closest("svg") && one.checkVisibility()
  && [...one.childNodes].some((text) => text.nodeType === 3 && text.data.trim())).map((one) => getComputedStyle(one).fontSize))]"""
ELSEWHERE = (
    "performance.getEntriesByType('resource').map((one) => one.name).filter((one) => !one.startsWith(location.origin))"
)
FACES = "document.fonts.ready.then((all) => [...all].filter((one) => one.status === 'error').map((one) => one.family))"
UNBROKEN = f"""(() => {{
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const words = [];
  while (texts.nextNode()) {{
    const {{ parentElement: held, data }} = texts.currentNode;
    if (data.trim() && !held.closest("svg, select, button, [aria-hidden], .mark, .unseen, {ALIKE}")
      && getComputedStyle(held).textWrapMode === "wrap") words.push(texts.currentNode);
  }}
  const tables = [...document.querySelectorAll("main table")].filter((one) => one.checkVisibility());
  const room = tables.map((one) => Math.max(one.offsetWidth, one.closest(".scroll").clientWidth) + 1);
  for (const one of words) one.data = "W".repeat(400);
  return [document.documentElement.scrollWidth - innerWidth,
    ...tables.map((one, at) => one.offsetWidth > room[at] ? `${{one.className}}: ${{room[at]}} to ${{one.offsetWidth}}` : 0)];
}})()"""
OVER = """[...document.querySelectorAll("main td, main th")].filter((one) => one.checkVisibility() && !one.matches(".cut"))
  .flatMap((one) => {
    const cell = one.getBoundingClientRect(), texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), over = [];
    while (texts.nextNode()) {
      const { data, parentElement: held } = texts.currentNode, range = document.createRange();
      if (!data.trim() || !held.checkVisibility() || held.closest(".unseen, .clamp, .preview, .told, svg")) continue;
      range.selectNode(texts.currentNode);
      const box = range.getBoundingClientRect();
      if (box.right > cell.right + 1 || box.left < cell.left - 1) over.push(data.slice(0, 60));
    }
    return over;
  })"""
"""Cells whose content stands over their neighbour's."""
HEADS = """[...document.querySelectorAll("main table")].filter((one) => one.checkVisibility() && one.offsetHeight > innerHeight)
  .map((one) => {
    const region = one.closest(".scroll");
    region.scrollTop = region.scrollHeight;
    const [head, box] = [one.tHead.rows[0].cells[0], region].map((part) => part.getBoundingClientRect());
    return region.scrollTop > 0 && Math.abs(head.top - box.top) < 2 && box.height < innerHeight
      ? "" : `${one.className} in ${region.className}`;
  }).filter(Boolean)"""


@pytest.fixture(scope="module")
def open_pages(browser: Chromium, once: Once) -> Iterator[dict[str, str]]:
    """The address of each page."""
    del browser  # without one nothing is made
    with viewing(once("gallery-store", gallery.filled)) as first, viewing(once("showcase", showcase.filled)) as second:
        yield {name: (first if name.startswith("gallery") else second).at(address) for name, address in PAGES.items()}


def test_every_route_is_a_page_that_is_looked_at_or_named_as_a_part() -> None:
    shown = {urlsplit(address).path for address in PAGES.values()}
    asked = {route.path for route in routes() if "GET" in (route.methods or ())}
    assert asked - shown - set(PARTS) == set(), "a page that no test and no picture shows"
    assert shown & set(PARTS) == set()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_screen_in_both_themes_and_axe_the_console_and_the_policy_have_nothing_against_it(
    at: Tab, open_pages: dict[str, str], name: str
) -> None:
    require_axe()
    missing = name.endswith(gallery.MISSING)
    for width in WIDTHS:
        at.seen(width=width, height=HEIGHT)
        at.go(open_pages[name])
        assert violations(at, *(() if width in (WIDTHS[0], WIDTHS[-1]) else WIDTH_RULES)) == [], width
        assert cast("float", at.ask_page(WIDER)) <= 0, width
        assert len(cast("list[str]", at.ask_page(SIZES))) <= 6, at.ask_page(SIZES)
        assert cast("int", at.ask_page(LINES)) <= 1, f"{width}: the navigation fits one line"
        assert at.ask_page(EQUAL) == 0, f"{width}: rows that began at different moments show different times"
        at.seen(width=width, height=HEIGHT, dark=True)
        assert violations(at, *DARK_RULES) == [], f"{width}, dark"
        assert len(at.complaints()) == missing, width
        assert at.ask_page(OVER) == [], f"{width}: a cell's text lies over the next cell"
        if width >= 1440:
            assert at.ask_page(HEADS) == [], "the heads of a table longer than the screen stay in sight"
        found = cast("list[object]", at.ask_page(UNBROKEN))
        assert cast("float", found[0]) <= 0, f"{width}: one unbroken word widens the page"
        assert [one for one in found[1:] if one] == [], f"{width}: one unbroken word widens a table"
    assert at.ask_page("document.querySelectorAll('h1').length") == 1
    assert at.ask_page(ELSEWHERE) == []
    assert at.ask_page(FACES) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_printed_without_controls_and_within_the_sheet(
    at: Tab, open_pages: dict[str, str], name: str
) -> None:
    at.seen(width=690, height=980)
    at.ask("Emulation.setEmulatedMedia", media="print")
    at.go(open_pages[name])
    assert cast("float", at.ask_page(WIDER)) <= 0
    seen = "[...document.querySelectorAll({!r})].filter((one) => one.checkVisibility(){}).length"
    assert at.ask_page(seen.format("header.top, .toolbar, nav.pages, .actions, button", "")) == 0
    cut = " && one.scrollHeight > one.clientHeight + 2"
    assert at.ask_page(seen.format("main .scroll, main pre", cut)) == 0, "what scrolls on a screen is whole on paper"
