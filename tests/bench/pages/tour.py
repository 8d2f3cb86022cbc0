"""Seventeen pages of a rich store, as a person sees them: pictures at three widths, light and dark.

python -m tests.bench.pages.tour FOLDER [--page NAME] [--width 1440 1024 390] [--theme light dark]
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import anyio

from tests.bench.pages.rich_store import rich_store
from tests.shared.browser.driver import CHROMIUM, Tab, started, tab
from tests.shared.view.process import viewing

WIDTHS, THEMES = (1440, 1024, 390), ("light", "dark")
WIDER = "document.documentElement.scrollWidth - innerWidth"
HREF = "document.querySelector({})?.getAttribute('href')"


def _to(selector: str) -> str:
    return HREF.format(repr(selector))


STEPS: dict[str, tuple[str, ...]] = {
    "overview": ("/",),
    "comparison": ("/", _to("a[href*='comparison?id']")),
    "regression": ("/", _to(".attention li.bad a.go")),
    "run": ("/benchmark?id=support", _to("a[href^='/run?id']")),
    "case": ("/benchmark?id=support", _to("a[href^='/run?id']"), _to("table.rows a[href^='/case']")),
    "matrix": ("/", _to("a[href^='/matrix']")),
    "trend": ("/benchmark?id=support",),
    "trajectory": ("/benchmark?id=research", _to("a[href^='/run?id']"), _to("table.rows a[href^='/case']")),
    "ab": ("/runs", _to("a[href^='/ab']")),
    "judging": ("/judge",),
    "agreement": ("/agreement?id=tone",),
    "failures": ("/failures",),
    "outbox": ("/outbox",),
    "prompts": ("/prompts",),
    "costs": ("/costs",),
    "audit": ("/audit?id=support",),
    "report": ("/benchmark?id=support", _to("a[href^='/run?id']"), _to("a[href^='/report']")),
}
"""How each page is come to: addresses, or what a page's link leads to."""


def come_to(at: Tab, home: str, first: str, steps: tuple[str, ...]) -> None:
    """Goes the way of those steps; `first` opens the door."""
    for number, step in enumerate(steps):
        address = step if step.startswith("/") else at.ask_page(step)
        assert isinstance(address, str), f"nothing leads on: {step}"
        at.go(
            f"{home}{address}{first if number == 0 and '?' not in address else first.replace('?', '&') if number == 0 else ''}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", nargs="*", default=list(STEPS))
    parser.add_argument("--width", nargs="*", type=int, default=list(WIDTHS))
    parser.add_argument("--theme", nargs="*", default=list(THEMES))
    options = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("There is no Chromium here.")
    options.folder.mkdir(parents=True, exist_ok=True)
    if not (options.folder / "evals.db").exists():
        anyio.run(partial(rich_store, options.folder))
    wrong = 0
    with started(options.folder) as browser, tab(browser) as at, viewing(options.folder) as page:
        for name in options.page:
            for width in options.width:
                for theme in options.theme:
                    at.seen(width=width, height=900, dark=theme == "dark")
                    come_to(at, page.home, f"?{page.url.partition('?')[2]}", STEPS[name])
                    at.picture(options.folder / f"{name}-{width}-{theme}.png")
                    wider, said = at.ask_page(WIDER), at.complaints()
                    if wider or said:
                        wrong += 1
                        sys.stdout.write(f"{name} at {width}, {theme}: {wider} px too wide; {said}\n")
    taken = len(options.page) * len(options.width) * len(options.theme)
    sys.stdout.write(f"{taken} pictures in {options.folder}, {wrong} with something wrong\n")


if __name__ == "__main__":
    main()
