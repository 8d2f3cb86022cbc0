"""The page as a user starts it: a real process that prints its address."""

from __future__ import annotations

import json
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

from tests.hang import HANG_S
from tests.shared.cli.standby import Asked, Forked
from tests.shared.cli.terminal import Terminal


@dataclass(slots=True, eq=False)
class Started:
    """The running page: the address that opens it, its process, and its exit code once it has ended."""

    url: str
    pid: int
    code: int | None = None

    @property
    def home(self) -> str:
        """The address without the token."""
        return self.url.partition("/?")[0]

    def at(self, page: str) -> str:
        """The address that opens that page."""
        return f"{self.home}{page}{'&' if '?' in page else '?'}{self.url.partition('?')[2]}"


@contextmanager
def viewing(folder: Path, *options: str, browser: str = "") -> Generator[Started]:
    """The page on the store in that folder, opened by that browser if one is named; ended as by Ctrl-C."""
    terminal = Terminal(folder, {"BROWSER": browser})
    asked = Asked(["view", *options, *([] if browser else ["--no-browser"])], str(folder), terminal.environment)
    with Forked(asked, stdin=DEVNULL, stdout=PIPE, stderr=None) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        started = Started(json.loads(line)["url"] if "--json" in options else line.strip(), process.pid)
        try:
            yield started
        finally:
            process.send_signal(signal.SIGINT)
            started.code = process.wait(HANG_S)
