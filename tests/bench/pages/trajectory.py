"""How soon a case of 500 steps is painted in Chromium, beside one of 60 steps, in turn; how many steps are on the first screen.

python -m tests.bench.pages.trajectory [--times 9]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import cast

import anyio

from tests.browser.showcase import steps
from tests.shared.browser.driver import CHROMIUM, Tab, started, tab
from tests.shared.view.process import viewing
from tests.workshop import answer, bench, benchmark, case, config_in, opened, save

LENGTHS = (60, 500)
PAINTED = """new Promise((done) => {
  const firstScreen = () => { // asks no row below the first that is off the screen: to measure it would lay it out
    const list = [...document.querySelectorAll("[data-navigator] .call")];
    const off = list.findIndex((one) => one.getBoundingClientRect().bottom > innerHeight);
    return off < 0 ? list.length : off;
  };
  const told = () => {
    const [page] = performance.getEntriesByType("navigation");
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    if (!paint) { setTimeout(told, 10); return; }
    done([page.responseEnd - page.responseStart, paint.startTime - page.responseStart, page.domContentLoadedEventEnd - page.responseStart,
      page.decodedBodySize, firstScreen()]);
  };
  document.readyState === "complete" ? told() : addEventListener("load", () => setTimeout(told));
})"""
STEPPED = """new Promise((done) => {
  const began = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", {key: "j", bubbles: true}));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


async def filled(folder: Path) -> None:
    """A run of one case of each length."""
    async with opened(config_in(folder)) as engine:
        idents = [f"s{number}" for number in LENGTHS]
        cases = [case(ident, name=f"{ident[1:]} steps", expectedOutputs={"output": "good"}) for ident in idents]
        outputs = [
            answer(f"o/{ident}", ident, "bad", promptVersionRef="a@1", toolCallsLog=steps(number))
            for ident, number in zip(idents, LENGTHS, strict=True)
        ]
        await save(engine, cases, benchmark("b", *idents), outputs)
        await bench(engine, "b", prompt_version_ref="a@1", key="long")


def painted(at: Tab, home: str, times: int) -> dict[int, list[list[float]]]:
    """Per length and time: milliseconds of the transfer, to the first paint and to a page that answers, all after its first byte;
    its bytes; and the steps of the outline that are seen.
    """
    taken: dict[int, list[list[float]]] = {number: [] for number in LENGTHS}
    for _ in range(times):
        for place, number in enumerate(LENGTHS):
            at.go("about:blank")
            at.go(f"{home}/case?run=job1&at={place}.1")
            taken[number].append(cast("list[float]", at.ask_page(PAINTED)))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=9)
    options = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("There is no Chromium here.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        anyio.run(filled, folder)
        with viewing(folder) as page, started(folder) as browser, tab(browser) as at:
            at.seen(width=1440, height=900)
            at.go(page.at("/"))
            for number, rows in painted(at, page.home, options.times).items():
                transfer, paint, ready, size, seen = (statistics.median(column) for column in zip(*rows, strict=True))
                at.go(f"{page.home}/case?run=job1&at={LENGTHS.index(number)}.1#step-1")
                stepped = statistics.median(cast("float", at.ask_page(STEPPED)) for _ in range(options.times))
                sys.stdout.write(
                    f"{number} steps, {size / 1000:.0f} KB: sent in {transfer:.0f} ms, painted after {paint:.0f} ms, answers after"
                    f" {ready:.0f} ms, {seen:.0f} steps on the first screen, a key takes {stepped:.0f} ms\n"
                )


if __name__ == "__main__":
    main()
