"""One headless Chromium, driven over its DevTools pipe as a person drives it: addresses, keys, themes, widths."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tests.hang import HANG_S

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--v=0",
    # No page is gone back to at once and no tab asks for a site's other process: none is kept or started ahead of need.
    "--disable-features=BackForwardCache,SpareRendererForSitePerProcess", "--process-per-site",
)  # fmt: skip
ABOVE_STANDARD = 10
"""The pipe's ends are moved above the descriptors under which Chromium reads (3) and writes (4) DevTools messages."""
CODES = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "+": 187,
    "-": 189,
} | {one: ord(one.upper()) for one in "0123456789?/jk[]ugzef"}
CANARY = "window.owned || document.title === 'owned' || document.body.id === 'owned'"
Told = dict[str, object]


class ChromiumError(AssertionError):
    """Chromium did not do what it was asked."""


@dataclass(eq=False)
class Chromium:
    """A running browser; `told` keeps what its tabs reported and nobody has read yet."""

    process: subprocess.Popen[bytes]
    writing: int
    reading: int
    told: list[Told] = field(default_factory=list[Told])
    _last: int = 0
    _read: bytearray = field(default_factory=bytearray)

    def ask(self, method: str, session: str | None = None, **params: object) -> Told:
        """The answer to one DevTools command."""
        self._last += 1
        asked = {"id": self._last, "method": method, "params": params}
        _write(self.writing, json.dumps(asked if session is None else {**asked, "sessionId": session}).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self.told.append(answer)
        if "error" in answer:
            raise ChromiumError(f"{method}: {answer['error']}")
        return cast("Told", answer["result"])

    def wait_for(self, method: str, session: str) -> Told:
        """The next report of that kind from that tab."""
        while True:
            for at, one in enumerate(self.told):
                if one.get("method") == method and one.get("sessionId") == session:
                    return cast("Told", self.told.pop(at)["params"])
            self.told.append(self._next())

    def _next(self) -> Told:
        until = time.monotonic() + HANG_S
        while b"\0" not in self._read:
            ready, _, _ = select.select([self.reading], [], [], max(0, until - time.monotonic()))
            piece = os.read(self.reading, 1 << 20) if ready else b""
            if not piece:
                raise ChromiumError("Chromium has ended" if ready else f"Chromium said nothing for {HANG_S} s")
            self._read += piece
        message, _, self._read = self._read.partition(b"\0")
        return cast("Told", json.loads(message))


def _write(descriptor: int, message: bytes) -> None:
    while message:
        message = message[os.write(descriptor, message) :]


@contextmanager
def started(folder: Path) -> Generator[Chromium]:
    """A browser with a profile of its own, ended at the end."""
    assert CHROMIUM is not None
    theirs, writing = _above(os.pipe())
    reading, told = _above(os.pipe())
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "--remote-debugging-pipe"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {shlex.join(command)} 3<&{theirs} 4>&{told}"], pass_fds=(theirs, told),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    os.close(theirs)
    os.close(told)
    browser = Chromium(process, writing, reading)
    try:
        yield browser
        browser.ask("Browser.close")
        process.wait(HANG_S)
    finally:
        process.kill()
        process.wait(HANG_S)
        os.close(writing)
        os.close(reading)


def _above(pipe: tuple[int, int]) -> list[int]:
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, ABOVE_STANDARD) for end in pipe]
    for end in pipe:
        os.close(end)
    return moved


@dataclass(eq=False)
class Tab:
    """One tab, its keyboard, and what the page in it complained about."""

    browser: Chromium
    session: str
    target: str

    def ask(self, method: str, **params: object) -> Told:
        """The answer to a DevTools command about this tab."""
        return self.browser.ask(method, self.session, **params)

    def go(self, url: str) -> None:
        """Opens that address and waits until it has loaded."""
        found = self.ask("Page.navigate", url=url)
        assert not found.get("errorText"), f"{url}: {found}"
        if "loaderId" in found:  # else only the part behind # is another
            self.browser.wait_for("Page.loadEventFired", self.session)

    def loads(self) -> None:
        """Waits until the page that something led to has loaded."""
        self.browser.wait_for("Page.loadEventFired", self.session)

    def ask_page(self, script: str) -> object:
        """What that expression is in the page; a promise is awaited."""
        found = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise ChromiumError(str(found["exceptionDetails"])[:2000])
        return cast("Told", found["result"]).get("value")

    def until(self, script: str) -> None:
        """Waits until that expression is true, looked at anew whenever the page is drawn."""
        self.ask_page(
            f"new Promise((done) => {{ const look = () => ({script}) ? done() : setTimeout(look, 20); look(); }})"
        )

    def seen(self, *, width: int = 1000, height: int = 800, dark: bool = False) -> None:
        """Makes the screen that wide, and light or dark."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Emulation.setScrollbarsHidden", hidden=True)

    def press(self, key: str, *, modifiers: int = 0) -> None:
        """Presses and lets go of a key that has a name."""
        about: Mapping[str, object] = {
            "key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": CODES[key], "modifiers": modifiers,
        }  # fmt: skip
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        self.ask(
            "Input.dispatchKeyEvent",
            type="keyDown" if text else "rawKeyDown",
            **about,
            **({"text": text} if text else {}),
        )
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text: str) -> None:
        """Types a text into whatever has the focus."""
        self.ask("Input.insertText", text=text)

    def complaints(self) -> list[str]:
        """Errors, warnings and refusals of the policy that the page reported since this was last asked."""
        mine = [one for one in self.browser.told if one.get("sessionId") == self.session]
        self.browser.told = [one for one in self.browser.told if one.get("sessionId") != self.session]
        return [json.dumps(one["params"]) for one in mine if one["method"] in COMPLAINTS]

    def picture(self, file: Path, *, tallest: int = 100_000) -> None:
        """Writes what is seen as a PNG file, down to the end of the page or so many pixels."""
        width, height = cast(
            "list[int]", self.ask_page("[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]")
        )
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, tallest), "scale": 1}
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(cast("str", found["data"])))


COMPLAINTS = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening"}


@contextmanager
def tab(browser: Chromium) -> Generator[Tab]:
    """A new tab with a cookie jar of its own, closed at the end."""
    context = browser.ask("Target.createBrowserContext")["browserContextId"]
    target = cast("str", browser.ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"])
    session = cast("str", browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
    opened = Tab(browser, session, target)
    for domain in ("Page", "Runtime", "Log"):
        opened.ask(f"{domain}.enable")
    opened.seen()
    try:
        yield opened
    finally:
        browser.ask("Target.disposeBrowserContext", browserContextId=context)
