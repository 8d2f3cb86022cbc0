"""The chart of a history where scripts run: what it shows by pointer and key, and that no label covers another."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import cast

import pytest

from tests.browser import showcase
from tests.browser.conftest import Once
from tests.shared.browser.driver import Chromium, Tab
from tests.shared.view.process import viewing

LABELS = "JSON.parse(document.querySelector('.trend-live').dataset.labels)"
BOXES = "JSON.parse(document.querySelector('.trend-live').dataset.boxes)"
CHART = "document.querySelector('.trend-live').chart"
TIP = "document.querySelector('.trend-tip').innerText"
FIGURE = "document.querySelector('[data-trend]')"
DRAWN_ANEW = """new Promise((done) => {
  const figure = document.querySelector("[data-trend]");
  figure.dataset.trend = %s;
  figure.querySelector(".trend-live").remove();
  document.querySelectorAll(".trend-tools").forEach((one) => one.remove());
  const script = document.createElement("script");
  script.src = "/trend.js";
  script.addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(done)));
  document.head.append(script);
})"""


@pytest.fixture(scope="module")
def history(browser: Chromium, once: Once) -> Iterator[str]:
    """The address of a benchmark of twelve runs that fell at the seventh."""
    del browser  # without one nothing is made
    with viewing(once("showcase", showcase.filled)) as page:
        yield page.at(showcase.PAGES["cliff benchmark"])


def drawn(at: Tab) -> None:
    at.until("document.querySelector('.trend-live')?.dataset.labels")


def test_the_chart_takes_the_place_of_the_drawing_which_is_there_without_scripts_and_on_paper(
    at: Tab, history: str
) -> None:
    at.go(history)
    drawn(at)
    both = "['.trend-live canvas', 'svg.trend'].map((one) => document.querySelector(one).checkVisibility())"
    assert at.ask_page(both) == [True, False]
    assert at.ask_page(LABELS) == ["▼ regression"]
    assert at.complaints() == []
    at.ask("Emulation.setEmulatedMedia", media="print")
    assert at.ask_page(both) == [False, True]
    at.seen()
    at.ask("Emulation.setScriptExecutionDisabled", value=True)
    at.go(history)
    at.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert at.ask_page("document.querySelector('svg.trend').checkVisibility()") is True


def test_a_run_is_pointed_at_opened_and_looked_at_closer_by_key(at: Tab, history: str) -> None:
    at.go(history)
    drawn(at)
    at.ask_page(f"{FIGURE}.focus()")
    at.press("ArrowLeft")
    told = cast("str", at.ask_page(TIP)).split("\n")
    assert told[1:] == ["score 0.670 (95 %: 0.573–0.754)", "67 of 100 passed", "refunds@1"]
    for _ in range(5):
        at.press("ArrowLeft")
    assert "level −0.277" in cast("str", at.ask_page(TIP))
    whole = cast("list[float]", at.ask_page(f"[{CHART}.scales.x.min, {CHART}.scales.x.max]"))
    at.press("+")
    at.until(f"{CHART}.scales.x.max - {CHART}.scales.x.min < {0.6 * (whole[1] - whole[0])}")
    at.press("0")
    at.until(f"{CHART}.scales.x.max - {CHART}.scales.x.min > {0.99 * (whole[1] - whole[0])}")
    at.press("Enter")
    at.loads()
    assert at.ask_page("location.pathname + location.search") == "/run?id=job7"


def test_dragging_looks_closer_and_the_scale_is_kept_in_the_address(at: Tab, history: str) -> None:
    at.go(history)
    drawn(at)
    left, top = cast(
        "list[float]",
        at.ask_page("(box => [box.left, box.top])(document.querySelector('.u-over').getBoundingClientRect())"),
    )
    whole = cast("float", at.ask_page(f"{CHART}.scales.x.max - {CHART}.scales.x.min"))
    for kind, x in (("mouseMoved", 200), ("mousePressed", 200), ("mouseMoved", 400), ("mouseReleased", 400)):
        at.ask("Input.dispatchMouseEvent", type=kind, x=left + x, y=top + 60, button="left", clickCount=1)
    at.until(f"{CHART}.scales.x.max - {CHART}.scales.x.min < {whole / 2}")
    assert at.ask_page("location.pathname") == "/benchmark", "a drag opens no run"
    at.ask_page("document.querySelector('[data-whole]').click()")
    at.until(f"{CHART}.scales.x.max - {CHART}.scales.x.min > {0.99 * whole}")
    at.ask_page("[...document.querySelectorAll('.trend-tools button')].at(-1).click()")
    at.until(f"{CHART}.scales.y.min > 0.4")
    assert "scale=fit" in cast("str", at.ask_page("location.search"))
    at.ask("Page.reload")
    at.loads()
    drawn(at)
    at.until(f"{CHART}.scales.y.min > 0.4")
    assert at.complaints() == []


def invented(seed: int) -> str:
    """A history with levels, breaks, regressions and versions at random, some of its runs almost at one moment."""
    drawn_by, rows = random.Random(seed), list[dict[str, object]]()  # noqa: S311  a history, no secret
    place, level, version = 0.0, 0.8, 0
    for at in range(drawn_by.choice((2, 5, 30, 120))):
        place += drawn_by.choice((0.0005, 0.01, 0.05))
        moved = drawn_by.random() < 0.25 and at > 0
        step = drawn_by.uniform(-0.3, 0.2) if moved else 0
        level = min(0.95, max(0.1, level + step))
        version += drawn_by.random() < 0.2
        score = min(1.0, max(0.0, level + drawn_by.uniform(-0.05, 0.05)))
        rows.append({
            "place": place, "at": 1_700_000_000_000 + place * 1e9, "score": score, "version": f"support-reply-{version}@{version}",
            "interval": None if drawn_by.random() < 0.1 else [max(0, score - 0.08), min(1, score + 0.08)],
            "passed": 1, "total": 2, "newSeries": drawn_by.random() < 0.1, "isRegression": drawn_by.random() < 0.2,
            "level": level, "moved": step if moved else None, "href": "/runs",
        })  # fmt: skip
    return json.dumps({"points": rows, "threshold": drawn_by.choice((None, 0.7))})


@pytest.mark.parametrize("width", [1440, 390])
def test_no_label_covers_another_and_all_are_inside_in_histories_at_random(at: Tab, history: str, width: int) -> None:
    at.seen(width=width, height=900)
    at.go(history)
    drawn(at)
    written = 0
    for seed in range(40):
        at.ask_page(DRAWN_ANEW % json.dumps(invented(seed)))
        drawn(at)
        boxes = cast("list[dict[str, float]]", at.ask_page(BOXES))
        labels = cast("list[str]", at.ask_page(LABELS))
        assert len(boxes) == len(labels)
        written += len(labels)
        inside = cast("float", at.ask_page("document.querySelector('.trend-live canvas').width"))
        for number, one in enumerate(boxes):
            assert one["left"] >= 0, seed
            assert one["right"] <= inside, seed
            for other in boxes[:number]:
                apart = (
                    one["left"] >= other["right"] or other["left"] >= one["right"]
                    or one["top"] >= other["bottom"] or other["top"] >= one["bottom"]
                )  # fmt: skip
                assert apart, (seed, one, other)
    assert written > 40
    assert at.complaints() == []


def test_a_narrow_screen_shows_the_newest_runs_of_the_case_map_with_the_names_of_its_cases(
    at: Tab, shown: dict[str, str]
) -> None:
    at.seen(width=390, height=844)
    at.go(shown["benchmark"])
    inside = """(() => {
      const map = document.querySelector(".case-map"), box = map.closest(".scroll").getBoundingClientRect();
      return [...map.querySelectorAll("tbody tr:first-child > *")].map((one) => one.getBoundingClientRect())
        .map((cell) => cell.left >= box.left - 1 && cell.right <= box.right + 1);
    })()"""
    name, *cells = cast("list[bool]", at.ask_page(inside))
    assert name
    assert cells[-4:] == [True] * 4
    heard = "[...document.querySelectorAll('.case-map td a')].map((one) => one.querySelector(':not([aria-hidden])').textContent)"
    assert set(cast("list[str]", at.ask_page(heard))) == {"passed", "failed"}, "a screen reader hears no tick"


def test_the_map_is_dated_in_the_readers_zone_as_all_times_are(at: Tab, history: str) -> None:
    at.ask("Emulation.setTimezoneOverride", timezoneId="Pacific/Kiritimati")  # 14 hours before UTC
    at.go(history)
    told = """[...document.querySelectorAll(".case-map time")].map((one) => {
      const at = new Date(one.dateTime), day = { day: "numeric", month: "short" }, clock = { hour: "2-digit", minute: "2-digit" };
      return [one.innerText, new Intl.DateTimeFormat("en-GB", one.dataset.as === "day" ? day : clock).format(at)];
    })"""
    heads = cast("list[tuple[str, str]]", at.ask_page(told))
    assert len(heads) > 1
    assert [shown.split() for shown, _ in heads] == [meant.split() for _, meant in heads]
    assert "UTC" not in str(at.ask_page("document.querySelector('.case-map').innerText"))
