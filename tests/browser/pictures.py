"""Pictures of every page in two themes and three widths, one file each, to be looked at.

python -m tests.browser.gallery [FOLDER] [PART-OF-A-NAME | light | dark | 1440 | 1024 | 390 ...]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from tests.shared.browser.driver import started, tab
from tests.shared.view.process import viewing

Fill = Callable[[Path], Awaitable[None]]
WIDTHS = (1440, 1024, 390)
HEIGHT = 900
THEMES = {"light": False, "dark": True}
TALLEST = 1_500


def taken(arguments: Sequence[str], exhibitions: Mapping[str, tuple[Fill, Mapping[str, str]]]) -> None:
    """Writes the pictures of the pages, themes and widths that are named: all of a kind of which none is named."""
    folder = Path(arguments[0] if arguments else "gallery").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as held:
        for name, (fill, pages) in exhibitions.items():
            store = Path(held) / name
            store.mkdir()
            anyio.run(fill, store)
            _photograph(store, Path(held), folder, pages, arguments[1:])


def _photograph(store: Path, held: Path, folder: Path, pages: Mapping[str, str], words: Sequence[str]) -> None:
    widths = [width for width in WIDTHS if str(width) in words] or WIDTHS
    themes = [theme for theme in THEMES if theme in words] or list(THEMES)
    parts = [word for word in words if word not in THEMES and word not in map(str, WIDTHS)]
    wanted = {name: page for name, page in pages.items() if not parts or any(part in name for part in parts)}
    if not wanted:
        return
    with viewing(store) as page, started(held) as browser, tab(browser) as seen:
        for name, address in wanted.items():
            for width in widths:
                for dark in (THEMES[theme] for theme in themes):
                    seen.seen(width=width, height=HEIGHT, dark=dark)
                    seen.go(page.at(address))
                    file = folder / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{width}{'-dark' if dark else ''}.png"
                    seen.picture(file, tallest=TALLEST)
                    sys.stdout.write(f"{file}\n")
