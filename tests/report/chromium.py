"""Headless Chromium, where the machine has one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--v=0",
)  # fmt: skip


def chromium(folder: Path, *arguments: str) -> tuple[str, str]:
    """What Chromium printed for those arguments, and what it logged: console messages, refusals of the policy."""
    assert CHROMIUM is not None
    found = subprocess.run(
        [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True, timeout=50, check=True,
    )  # fmt: skip
    return found.stdout.decode("utf-8", "replace"), found.stderr.decode("utf-8", "replace")
