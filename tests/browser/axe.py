"""What axe-core finds on the page that a tab shows, under the page's own policy."""

from __future__ import annotations

import json
from functools import cache
from typing import cast

import pytest

from tests.node_clients import MODULES
from tests.shared.browser.driver import Tab

AXE = MODULES / "axe-core" / "axe.min.js"
OPTIONS = {"resultTypes": ["violations"], "preload": False, "rules": {"target-size": {"enabled": True}}}
"""axe leaves the size of targets (WCAG 2.2, 2.5.8) out unless it is asked for."""
ALIKE = "table.case-map tbody tr:nth-child(n + 7)"
"""The further rows of a map of some thousand cells are made as the first are, and take axe a minute."""
ASK = """
axe.run({exclude: [["ALIKE"]]}, OPTIONS).then((found) =>
  found.violations.map((one) => ({id: one.id, impact: one.impact, at: one.nodes.map((node) => node.html.slice(0, 300))})))
"""


def require_axe() -> None:
    """Skips the test where axe-core is not installed."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: python -m tests.node_clients (it needs npm's registry)")


@cache
def _axe() -> str:
    return AXE.read_text("utf-8")


def violations(at: Tab, *rules: str) -> list[object]:
    """The violations on the page, of those rules where some are named."""
    if at.ask_page("typeof axe") == "undefined":
        at.ask_page(f"{_axe()};0")
    asked = {**OPTIONS, **({"runOnly": [*rules]} if rules else {})}
    return cast("list[object]", at.ask_page(ASK.replace("ALIKE", ALIKE).replace("OPTIONS", json.dumps(asked))))
