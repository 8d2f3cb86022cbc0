"""axe-core over pages of ours in headless Chromium: each in a frame of its own, with its style and without its policy."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from html import escape, unescape
from pathlib import Path
from typing import cast

import pytest

from tests.node_clients import MODULES
from tests.report.chromium import chromium

AXE = MODULES / "axe-core" / "axe.min.js"
GRAVE = frozenset({"serious", "critical"})
RUN = """
addEventListener("load", async () => {
  const found = await axe.run(document);
  const root = document.documentElement;
  const told = {
    page: window.name,
    wider: root.scrollWidth - root.clientWidth,
    passes: found.passes.length,
    violations: found.violations.map((one) => ({ id: one.id, impact: one.impact, at: one.nodes.map((node) => node.html) })),
  };
  parent.document.getElementById("found").append(JSON.stringify(told) + "\\n");
});
"""


def looked_at(folder: Path, pages: Mapping[str, str], *, style: str, width: int, dark: bool) -> list[dict[str, object]]:
    """What axe found on each page, and by how many pixels it is wider than its frame; skips where axe is not installed."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: python -m tests.node_clients (it needs npm's registry)")
    shutil.copy(AXE, folder / "axe.min.js")
    frames = [
        f'<iframe name="{escape(name)}" width="{width}" height="900" srcdoc="{escape(_bare(text, style))}"></iframe>'
        for name, text in pages.items()
    ]
    file = folder / "frames.html"
    file.write_text(f'<!doctype html><meta charset="utf-8"><pre id="found"></pre>{"".join(frames)}', encoding="utf-8")
    scheme = "--blink-settings=preferredColorScheme=0" if dark else "--blink-settings=preferredColorScheme=1"
    page, _ = chromium(folder, scheme, "--virtual-time-budget=20000", "--dump-dom", file.as_uri())
    told = re.search('<pre id="found">(.*?)</pre>', page, re.DOTALL)
    assert told is not None
    return [cast("dict[str, object]", json.loads(unescape(line))) for line in told[1].splitlines()]


def _bare(page: str, style: str) -> str:
    """The page with its style and axe in it, and without its own script."""
    page = page.replace('<link rel="stylesheet" href="/page.css">', f"<style>{style}</style>")
    return page.replace(
        '<script src="/page.js" defer></script>', f'<script src="axe.min.js"></script><script>{RUN}</script>'
    )


def grave(told: dict[str, object]) -> list[object]:
    """The serious and critical violations."""
    violations = cast("list[dict[str, object]]", told["violations"])
    return [one for one in violations if one["impact"] in GRAVE]
