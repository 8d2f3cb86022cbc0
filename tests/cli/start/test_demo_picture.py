"""The README's picture shows what the demo prints."""

from __future__ import annotations

import re
from html import unescape

from tests.demo_picture import FILE, picture, shown
from tests.shared.cli.terminal import ROOT

SAID = re.compile(r"<text[^>]*>([^<]*)</text>")


def _read(svg: str) -> list[str]:
    return [unescape(text).replace("\xa0", " ") for text in SAID.findall(svg)]


def test_the_picture_says_what_the_demo_prints_today() -> None:
    said = _read(FILE.read_text("utf-8"))
    assert said == _read(picture(shown())), "python -m tests.demo_picture makes it anew"
    assert any("passes dropped from 24 of 26 to 16 of 26" in text for text in said)


def test_the_readme_shows_it_and_it_needs_nothing_from_the_web() -> None:
    assert "](docs/demo.svg)" in (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"(?:href|src|url)\W+https?:", FILE.read_text("utf-8")) == []
