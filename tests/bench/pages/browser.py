"""How soon Chromium paints a large run, its pages and its reports, beside a blank page in the same browser.

python -m tests.bench.pages.browser [--cases 10000] [--opened 1000]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import cast

from tests.bench.pages.report import CLI, store_of
from tests.shared.bench.process import PATH
from tests.shared.browser.driver import CHROMIUM, Tab, started, tab
from tests.shared.cli.terminal import Terminal
from tests.shared.view.process import viewing

TIMES = 5
PAINTED = """
new Promise((done) => new PerformanceObserver((seen) => {
  const [paint] = seen.getEntriesByName("first-contentful-paint");
  if (!paint) return;
  const told = () => {
    const [page] = performance.getEntriesByType("navigation");
    done([paint.startTime, page.domContentLoadedEventEnd, page.loadEventEnd, document.querySelectorAll("*").length]);
  };
  if (document.readyState === "complete") told(); else addEventListener("load", () => setTimeout(told));
}).observe({type: "paint", buffered: true}))
"""


def looked(at: Tab, name: str, address: str) -> None:
    """Opens the address a few times and writes the medians in a line."""
    rows: list[list[float]] = []
    for _ in range(TIMES):
        at.go("about:blank")
        at.go(address)
        rows.append(cast("list[float]", at.ask_page(PAINTED)))
    painted, ready, loaded, elements = (statistics.median(column) for column in zip(*rows, strict=True))
    sys.stdout.write(
        f"{name}: first paint {painted:.0f} ms, ready {ready:.0f} ms, loaded {loaded:.0f} ms, {elements:.0f} elements\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--opened", type=int, default=1_000)
    options = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("There is no Chromium here.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {"PATH": PATH, "HOME": name}
        (folder / "blank.html").write_text("<!doctype html><title>blank</title><p>blank")
        files = {"blank": "blank.html"}
        for cases in (options.opened, options.cases):
            db = store_of(folder, cases, environment)
            report = f"{cases}.html"
            said = Terminal(folder).carried_out([*CLI, "report", "two", "-o", report, "--db", str(db)])
            assert said.code == 0, said.err
            size = (folder / report).stat().st_size / 1e6
            files[f"report of {cases} cases, {size:.1f} MB"] = report
        with started(folder) as browser, tab(browser) as at, viewing(folder, "--db", str(db)) as page:
            for what, file in files.items():
                looked(at, what, (folder / file).as_uri())
            run = at_run(at, page.at("/runs"))
            for what, address in (
                ("overview", "/"), ("benchmark", "/benchmark?id=b"), ("run", run), ("run, page 200", f"{run}&page=200"),
                ("run, searched", f"{run}&q=resolved"), ("failures", "/failures"),
            ):  # fmt: skip
                looked(at, f"{options.cases} cases, page of the {what}", page.home + address)


def at_run(at: Tab, runs: str) -> str:
    """The address of the newest run."""
    at.go(runs)
    return cast("str", at.ask_page("document.querySelector('th a').getAttribute('href')"))


if __name__ == "__main__":
    main()
