"""The page of a run of 10,000 cases in Chromium, beside a static page of the same bytes; sorting, a live run, and memory.

python -m tests.bench.pages.page [--cases 10000] [--polls 3600] [--store FILE]

`--store` is a store with the runs `one` and `two`, as `tests.bench.pages.report.store_of` makes it.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import closing, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import anyio
import httpx2

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store.connection import open_raw
from tests.bench.pages.report import store_of
from tests.shared.bench.process import PATH
from tests.shared.browser.driver import CHROMIUM, Tab, started, tab
from tests.shared.view.process import Started, viewing
from tests.shared.view.visitor import visitor, waiting
from tests.workshop import bench, config_in, fleet, opened

TIMES = 9
FILES = ("page.css", "page.js", "htmx.js", "theme.js")
LIVE = 300
PACE_S = 0.2
SORTS = ("", "score", "-score", "case", "-case", "place", "-place")
FILTERS = (
    "",
    "status=failed",
    "status=passed",
    "status=newly-failing",
    "q=closed",
    "q=REF-004",
    "cause=wrong-output",
    "page=50",
)
VISIBLE = """new Promise((done) => {
  const told = () => {
    const [page] = performance.getEntriesByType("navigation");
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    const all = [page, ...performance.getEntriesByType("resource")];
    if (!paint) { setTimeout(told, 10); return; }
    done([Math.max(paint.startTime, page.domContentLoadedEventEnd), all.reduce((sum, one) => sum + one.transferSize, 0),
      document.querySelectorAll("#cases tbody tr").length]);
  };
  document.readyState === "complete" ? told() : addEventListener("load", () => setTimeout(told));
})"""
SWAPPED = """new Promise((done) => {
  const before = document.querySelector("#cases tbody"), began = performance.now();
  const look = () => document.querySelector("#cases tbody") === before ? setTimeout(look, 1)
    : requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  %s;
  look();
})"""
WATCHED = """addEventListener("DOMContentLoaded", () => {
  const rows = JSON.parse(sessionStorage.rows ?? "[]");
  const note = () => {
    const said = /of (\\d+) shown/.exec(document.querySelector("#cases header")?.textContent ?? "");
    if (!said || rows.at(-1)?.[0] === Number(said[1])) return;
    rows.push([Number(said[1]), Date.now()]);
    sessionStorage.rows = JSON.stringify(rows);
  };
  new MutationObserver(note).observe(document.body, {childList: true, subtree: true, characterData: true});
  note();
})"""
HASTE = """(() => {
  const wait = window.setTimeout, send = XMLHttpRequest.prototype.send;
  window.polls = 0;
  window.setTimeout = (work, ms, ...rest) => wait(work, ms === 500 ? 0 : ms, ...rest);
  XMLHttpRequest.prototype.send = function (...asked) { window.polls += 1; return send.apply(this, asked); };
})()"""


def slowly(inputs: dict[str, object]) -> str:
    """A target that takes its time: says what it was asked."""
    time.sleep(PACE_S)
    return str(inputs["q"])


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def served(folder: Path) -> None:
    """The server's CPU for a page that nobody has seen: the first of all, and every sort with every filter."""
    addresses = [f"/cases?id=two&sort={sort}&{chosen}" for sort in SORTS for chosen in FILTERS]
    async with opened(config_in(folder)) as engine, visitor(engine) as client:
        pages = ("/run?id=two", "/benchmark?id=b", "/comparison?before=one&after=two", "/", "/failures")
        for page in pages:
            first = await _cpu(partial(_asked, client, page))
            again = await _cpu(partial(_asked, client, page))
            await _committed(engine)
            await _asked(client, "/runs")
            anew = await _cpu(partial(_asked, client, page))
            say(f"{page}: {first:.0f} ms of CPU when it is opened first, {again:.0f} again, {anew:.0f} after a commit")
        spent = sorted([await _cpu(partial(_asked, client, address)) for address in addresses])
        say(f"{len(spent)} sorts and filters, none asked before: {_spread(spent)} of CPU")
        after: list[float] = []
        for address in addresses[::4]:
            await _committed(engine)
            after.append(await _cpu(partial(_asked, client, address)))
        say(f"{len(after)} of them, each after a commit: {_spread(sorted(after))} of CPU")


async def _committed(engine: Engine) -> None:
    """Writes something that changes none of the pages."""
    await engine.store.write(lambda db: db.execute("UPDATE job SET updated_at = updated_at + 1 WHERE key = 'one'"))


def _spread(spent: list[float]) -> str:
    return f"median {statistics.median(spent):.0f} ms, p95 {spent[int(len(spent) * 0.95)]:.0f} ms"


async def _cpu(work: Callable[[], Awaitable[object]]) -> float:
    before = time.process_time()
    await work()
    return (time.process_time() - before) * 1000


async def _asked(client: httpx2.AsyncClient, address: str) -> None:
    answer = await client.get(address)
    assert answer.status_code == 200, f"{address}: {answer.status_code}"


@contextmanager
def static(folder: Path) -> Generator[str]:
    """The files of that folder by HTTP."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as it is named there
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def painted(at: Tab, page: Started, folder: Path) -> None:
    """How soon the headline and the first 100 rows are there, ours and a static page of the same bytes in turn."""
    at.go(page.at("/run?id=two"))
    (folder / "static").mkdir()
    for name, address in (
        ("index.html", "/run?id=two"),
        *((file, f"/{file}") for file in (*FILES, "inter.woff2", "jetbrains-mono.woff2")),
    ):
        text = cast(
            "list[int]",
            at.ask_page(f"fetch({address!r}).then((one) => one.arrayBuffer()).then((one) => [...new Uint8Array(one)])"),
        )
        (folder / "static" / name).write_bytes(bytes(text))
    taken: dict[str, list[list[float]]] = {"ours": [], "static": []}
    with static(folder / "static") as home:
        for _ in range(TIMES):
            for name, address in (("ours", page.home + "/run?id=two"), ("static", home + "/")):
                at.ask("Network.clearBrowserCache")
                at.go("about:blank")
                at.go(address)
                taken[name].append(cast("list[float]", at.ask_page(VISIBLE)))
    ours, beside = (statistics.median(row[0] for row in taken[name]) for name in ("ours", "static"))
    _, size, rows = taken["ours"][-1]
    say(
        f"headline and {rows:.0f} rows visible: {ours:.0f} ms, a static page of the same bytes {beside:.0f} ms: {ours / beside:.2f} x;"
        f" {size / 1000:.0f} KB"
    )


def swapped(at: Tab, page: Started) -> None:
    """How soon other rows are there once somebody sorts or filters."""
    at.go(page.at("/run?id=two"))
    chosen = "document.querySelector('#cases [name=status]').value = {!r}; document.querySelector('#cases form').requestSubmit()"
    acts = [
        "document.querySelector('#cases thead a').click()",
        "document.querySelectorAll('#cases thead a')[1].click()",
    ]
    acts += [chosen.format(status) for status in ("failed", "newly-failing", "passed", "")]
    acts += ["document.querySelector('#cases a[rel=next]').click()"] * 3
    taken = sorted(cast("float", at.ask_page(SWAPPED % act)) for act in acts)
    say(
        f"rows exchanged in Chromium, {len(taken)} times: median {statistics.median(taken):.0f} ms, the longest {taken[-1]:.0f} ms"
    )


def lived(at: Tab, folder: Path) -> None:
    """How long after each commit of a run of 300 cases its table shows it."""
    (folder / "live").mkdir()
    commits: list[tuple[int, float]] = []
    anyio.run(partial(_suite, folder / "live"))
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(folder / "live" / "evals.db", commits, over))
    running = threading.Thread(target=lambda: anyio.run(_run, folder / "live"))
    with viewing(folder / "live") as page:
        watching.start()
        running.start()
        while not commits:
            time.sleep(0.02)
        at.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCHED)
        at.go(page.at("/run?id=live"))
        opened_at = time.time()
        running.join()
        time.sleep(2)
        over.set()
        watching.join()
        shown = cast("list[list[float]]", at.ask_page("JSON.parse(sessionStorage.rows)"))
    late = [_late(count, when, shown) for count, when in commits if when > opened_at]
    late.sort()
    say(
        f"a live run of {LIVE} cases, {len(late)} commits seen: its table shows one after {1000 * statistics.median(late):.0f} ms,"
        f" p95 {1000 * late[int(len(late) * 0.95)]:.0f} ms, at most {1000 * late[-1]:.0f} ms"
    )


def _late(count: int, when: float, shown: list[list[float]]) -> float:
    return next((at / 1000 - when for rows, at in shown if rows >= count), float("inf"))


async def _suite(folder: Path) -> None:
    async with opened(config_in(folder)) as engine:
        await fleet(engine, LIVE)


async def _run(folder: Path) -> None:
    async with opened(config_in(folder, concurrency=2)) as engine:
        await bench(engine, "b", key="live", target="python:tests.bench.pages.page:slowly")


def _watch(store: Path, commits: list[tuple[int, float]], over: threading.Event) -> None:
    with closing(open_raw(store, read_only=True)) as db:
        while not over.wait(0.01):
            row = db.execute("SELECT count(*) FROM unit WHERE outcome IS NOT NULL").fetchone()
            if row[0] and (not commits or commits[-1][0] != row[0]):
                commits.append((row[0], time.time()))


def polled(at: Tab, folder: Path, polls: int) -> None:
    """Memory of the server and of the page over an hour's polls, while something is written again and again."""
    waits = folder / "waits"
    waits.mkdir()
    anyio.run(_waiting, waits)
    with viewing(waits) as page:
        at.ask("Page.addScriptToEvaluateOnNewDocument", source=HASTE)
        at.go(page.at("/run?id=job1"))
        sizes: list[tuple[float, float]] = []
        with closing(open_raw(waits / "evals.db")) as db:
            for part in range(1, 9):
                while cast("int", at.ask_page("polls")) < polls * part / 8:
                    db.execute("UPDATE job SET reason = 'waits, ' || ?", (time.time(),))
                    time.sleep(0.02)
                at.ask("HeapProfiler.collectGarbage")
                heap = cast("float", at.ask("Runtime.getHeapUsage")["usedSize"])
                sizes.append((_rss_mb(page.pid), heap / 1e6))
    say(
        f"{polls} polls: server {' '.join(f'{one:.0f}' for one, _ in sizes)} MB, page {' '.join(f'{one:.1f}' for _, one in sizes)} MB"
    )


async def _waiting(folder: Path) -> None:
    async with opened(config_in(folder)) as engine:
        await waiting(engine, LIVE)


def _rss_mb(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--polls", type=int, default=3_600)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("There is no Chromium here.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = options.store or store_of(folder, options.cases, {"PATH": PATH, "HOME": name})
        shutil.copy(store, folder / "evals.db")
        anyio.run(served, folder)
        with started(folder) as browser, tab(browser) as at:
            with viewing(folder) as page:
                painted(at, page, folder)
                swapped(at, page)
            lived(at, folder)
            polled(at, folder, options.polls)


if __name__ == "__main__":
    main()
