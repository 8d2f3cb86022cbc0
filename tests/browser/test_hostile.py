"""Whatever was under test stays text: a canary that it tries to set stays unset on every page and in every report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.browser.conftest import Once
from tests.shared.browser.driver import CANARY, Chromium, Tab
from tests.shared.report.hostile import LONG, PAYLOADS, hostile_runs, written
from tests.shared.view.process import viewing
from tests.shared.view.visitor import TWO
from tests.workshop import answer, bench, benchmark, case, config_in, opened, rubric, save

PAGES = (
    "/", "/runs", "/benchmark?id=b", "/comparison?before=job1&after=job2", "/matrix?id=b", "/run?id=job2&columns=all",
    "/matrix?id=b&only=failed", "/costs", "/trajectory?run=job2&at=0.1", "/prompts",
    "/run?id=job2", "/run?id=job2&q=%3Cscript%3Eowned%3C/script%3E", "/failures", "/outbox",
    "/judge", "/report?id=job2&compare=job1", *[f"/case?run=job2&at={at}.1" for at in range(len(PAYLOADS))],
)  # fmt: skip
FOREIGN = """
[...document.querySelectorAll("img, iframe, object, embed, base, main svg:not(.drawn), a[href^='javascript:' i], a[hx-get]")].length
  + [...document.querySelectorAll("*")].filter((one) => one.getAttributeNames().some((name) => /^(on|(data-)?hx-on)/.test(name))).length
"""


@pytest.fixture(scope="module")
def hostile(browser: Chromium, once: Once) -> Iterator[dict[str, str]]:
    """The addresses of pages and reports of two hostile runs, of which one output has 5 MB."""
    del browser  # without one nothing is made

    async def filled(folder: Path) -> None:
        async with opened(config_in(folder)) as engine:
            await hostile_runs(engine, long=LONG)
            waits = answer("aw", "w", PAYLOADS[0] + PAYLOADS[4])
            await save(
                engine, rubric("p", 2, **TWO), case("w", name=PAYLOADS[1], rubricId="p"), waits, benchmark("q", "w")
            )
            await bench(engine, "q")
            for name, compare in (("run", None), ("beside", "one")):
                text = await written(engine, ".html", "two", compare=compare)
                (folder / f"{name}.html").write_text(text, encoding="utf-8")

    folder = once("hostile", filled)
    files = {name: (folder / f"{name}.html").as_uri() for name in ("run", "beside")}
    with viewing(folder) as page:
        yield {address: page.at(address) for address in PAGES} | files


def touched(at: Tab) -> None:
    """Opens whatever opens, and clicks whatever was not made by us."""
    at.ask_page("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    at.ask_page("document.querySelectorAll('pre, pre *, td, dd').forEach((one) => one.click())")
    at.ask_page("new Promise((done) => setTimeout(done))")


NARROW = ("run", "beside", "/", "/run?id=job2", "/case?run=job2&at=0.1", "/judge", "/outbox", "/failures")
WIDER = "document.documentElement.scrollWidth - innerWidth"
MEAN = "document.querySelector('[aria-label=\"means of the criteria\"] td')?.getBoundingClientRect().left ?? 0"


def test_nothing_under_test_is_carried_out_on_any_page_or_in_any_report_and_none_is_wider_than_the_screen(
    at: Tab, hostile: dict[str, str]
) -> None:
    assert {*NARROW} <= hostile.keys()
    for name, address in hostile.items():
        at.go(address)
        touched(at)
        assert at.ask_page(CANARY) is False, name
        assert at.ask_page(FOREIGN) == 0, name
        if name in NARROW:
            at.seen(width=360)
            assert cast("float", at.ask_page(WIDER)) <= 0, name
            assert cast("float", at.ask_page(MEAN)) < 360, f"{name}: a long name leaves its figures in sight"
            at.seen()
        assert at.complaints() == [], name


def test_a_long_output_is_cut_with_a_remedy(at: Tab, hostile: dict[str, str]) -> None:
    at.seen(width=360)
    at.go(hostile["/case?run=job2&at=0.1"])
    assert "more characters: the text tab shows more, minions-evals report RUN -o FILE.json has all." in cast(
        "str", at.ask_page("document.body.innerText")
    )
    at.go(f"{hostile['run']}#open")
    assert "more characters: a .json report has all of them." in cast("str", at.ask_page("document.body.innerText"))


def test_direction_and_control_characters_are_shown_as_what_they_are(at: Tab, hostile: dict[str, str]) -> None:
    at.go(f"{hostile['run']}#open")
    read = cast("str", at.ask_page("document.body.innerText"))
    assert not set("\u202e\u2066\u061c\x1b\x00\x9b") & set(read)
