"""One Chromium for all tests of a session, and the stores that they look at; without Chromium they are skipped."""

from __future__ import annotations

import fcntl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from tests.browser import gallery
from tests.shared.browser.driver import CHROMIUM, Chromium, Tab, started, tab
from tests.shared.report.hostile import written
from tests.shared.view.process import viewing
from tests.workshop import config_in, opened

Once = Callable[[str, Callable[[Path], Awaitable[None]]], Path]
"""The folder of that name, which whoever asks first fills for all workers; nobody may change what is in it."""


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """The browser."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with started(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def at(browser: Chromium) -> Iterator[Tab]:
    """A tab of this test's own, in which nothing has been opened."""
    with tab(browser) as opened_tab:
        yield opened_tab


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Once:
    """Folders that all workers of a run share."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if hasattr(request.config, "workerinput") else own

    def made(name: str, fill: Callable[[Path], Awaitable[None]]) -> Path:
        folder, begun = shared / name, shared / f"{name}-begun"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                begun.mkdir()
                anyio.run(fill, begun)
                begun.rename(folder)
        return folder

    return made


@pytest.fixture(scope="session")
def shown(browser: Chromium, once: Once) -> Iterator[dict[str, str]]:
    """The addresses of every page on the gallery's store, and of reports of it."""
    del browser  # without one nothing is made
    folder = once("gallery", _exhibited)
    files = {f"report of {name}": (folder / f"{name}.html").as_uri() for name in gallery.REPORTS}
    with viewing(folder) as page:
        yield {name: page.at(address) for name, address in gallery.PAGES.items()} | files


async def _exhibited(folder: Path) -> None:
    await gallery.filled(folder)
    async with opened(config_in(folder)) as engine:
        for name, (ident, compare) in gallery.REPORTS.items():
            text = await written(engine, ".html", ident, compare=compare)
            (folder / f"{name}.html").write_text(text, encoding="utf-8")
