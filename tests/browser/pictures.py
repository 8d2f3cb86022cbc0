"""Pictures of every page in two themes and three widths, one file each, to be looked at.

python -m tests.browser.gallery [FOLDER] [PART-OF-A-NAME ...]
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
TALLEST = 1_500


def taken(arguments: Sequence[str], exhibitions: Mapping[str, tuple[Fill, Mapping[str, str]]]) -> None:
    """Writes the pictures of the pages whose name contains one of the words, all without any."""
    folder = Path(arguments[0] if arguments else "gallery").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as held:
        for name, (fill, pages) in exhibitions.items():
            store = Path(held) / name
            store.mkdir()
            anyio.run(fill, store)
            _photograph(store, Path(held), folder, pages, arguments[1:])


def _photograph(store: Path, held: Path, folder: Path, pages: Mapping[str, str], words: Sequence[str]) -> None:
    wanted = {name: page for name, page in pages.items() if not words or any(word in name for word in words)}
    if not wanted:
        return
    with viewing(store) as page, started(held) as browser, tab(browser) as seen:
        for name, address in wanted.items():
            for width in WIDTHS:
                for dark in (False, True):
                    seen.seen(width=width, height=HEIGHT, dark=dark)
                    seen.go(page.at(address))
                    file = folder / f"{re.sub(r'[^a-z0-9]+', '-', name.lower())}-{width}{'-dark' if dark else ''}.png"
                    seen.picture(file, tallest=TALLEST)
                    sys.stdout.write(f"{file}\n")
