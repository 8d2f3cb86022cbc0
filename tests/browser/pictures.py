"""Pictures of every page in two themes and three widths, one file each, to be looked at.

python -m tests.browser.gallery [FOLDER] [PART-OF-A-NAME | light | dark | 1440 | 1024 | 390 ...]
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import anyio

from tests.shared.browser.driver import Tab, started, tab
from tests.shared.view.process import Started, viewing

Fill = Callable[[Path], Awaitable[None]]
WIDTHS = (1440, 1024, 390)
HEIGHT = 900
THEMES = {"light": False, "dark": True}
TALLEST = 1_500
ACT_S = 0.6
"""So long a page has for what a script began there."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exhibition:
    """Pages of a filled store, and what `acts` on a page, a script, leads to. With a `token` it is a team's page.

    Its pages `before` are shown to whoever has not signed in.
    """

    fill: Fill
    pages: Mapping[str, str]
    acts: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    token: str = ""
    before: Mapping[str, str] = field(default_factory=dict[str, str])


def taken(arguments: Sequence[str], exhibitions: Mapping[str, Exhibition]) -> None:
    """Writes the pictures of the pages, themes and widths that are named: all of a kind of which none is named."""
    folder = Path(arguments[0] if arguments else "gallery").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    words = arguments[1:]
    widths = [width for width in WIDTHS if str(width) in words] or WIDTHS
    themes = [theme for theme in THEMES if theme in words] or list(THEMES)
    screens = [(width, THEMES[theme]) for width in widths for theme in themes]
    parts = [word for word in words if word not in THEMES and word not in map(str, WIDTHS)]

    def wanted(all_of: Mapping[str, T]) -> dict[str, T]:
        return {name: one for name, one in all_of.items() if not parts or any(part in name for part in parts)}

    with TemporaryDirectory(ignore_cleanup_errors=True) as held, started(Path(held)) as browser:
        for name, shown in exhibitions.items():
            only = replace(shown, pages=wanted(shown.pages), acts=wanted(shown.acts), before=wanted(shown.before))
            if only.pages or only.acts or only.before:
                store = Path(held) / name
                store.mkdir()
                anyio.run(shown.fill, store)
                with tab(browser) as seen:
                    _photograph(only, store, seen, folder, screens)


def _photograph(shown: Exhibition, store: Path, seen: Tab, folder: Path, screens: Sequence[tuple[int, bool]]) -> None:
    def pictures(name: str, address: str, act: str = "") -> None:
        for width, dark in screens:
            seen.seen(width=width, height=HEIGHT, dark=dark)
            seen.go(address)
            if act:
                seen.ask_page(act)
                time.sleep(ACT_S)
            file = folder / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{width}{'-dark' if dark else ''}.png"
            seen.picture(file, tallest=TALLEST)
            sys.stdout.write(f"{file}\n")

    with viewing(store, *(("--http", "127.0.0.1:0") if shown.token else ())) as page:
        for name, path in shown.before.items():
            pictures(name, _address(page, path, shown))
        if shown.token:
            seen.go(_address(page, "/sign-in", shown))
            seen.type(shown.token)
            seen.press("Enter")
            seen.loads()
        for name, path in shown.pages.items():
            pictures(name, _address(page, path, shown))
        for name, (path, act) in shown.acts.items():
            pictures(name, _address(page, path, shown), act)


def _address(page: Started, path: str, shown: Exhibition) -> str:
    return page.home.rstrip("/") + path if shown.token else page.at(path)
