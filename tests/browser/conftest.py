"""One Chromium for all tests of a session, and the stores that they look at; without Chromium they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.browser import gallery
from tests.browser.driver import Chromium, Tab, started, tab
from tests.report.chromium import CHROMIUM
from tests.report.hostile import written
from tests.view.process import viewing
from tests.workshop import config_in, opened


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
def shown(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The addresses of every page on the gallery's store, and of reports of it; nobody may change the store."""
    folder = tmp_path_factory.mktemp("gallery")
    anyio.run(_exhibited, folder)
    files = {f"report of {name}": (folder / f"{name}.html").as_uri() for name in gallery.REPORTS}
    with viewing(folder) as page:
        yield {name: page.at(address) for name, address in gallery.PAGES.items()} | files


async def _exhibited(folder: Path) -> None:
    await gallery.filled(folder)
    async with opened(config_in(folder)) as engine:
        for name, (ident, compare) in gallery.REPORTS.items():
            text = await written(engine, ".html", ident, compare=compare)
            (folder / f"{name}.html").write_text(text, encoding="utf-8")
