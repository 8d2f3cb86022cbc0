"""Writes the pages of the reference."""

from __future__ import annotations

from pathlib import Path

from tests.reference.pages import PAGES

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, made in PAGES.items():
        (FOLDER / name).write_text(made(), "utf-8")
