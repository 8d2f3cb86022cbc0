"""What is printed: no words of anybody's make a terminal act."""

from __future__ import annotations

import ast
import io
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import minions_evals_mcp
from minions_evals_mcp import crashes
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.report.screen import console

HOSTILE = "a\x1b[2Jb\x07c\x9b31md\u202ee\u2066f\rg\x00h"
KEPT = "a[2Jbc31mdefgh"
ROOT = Path(minions_evals_mcp.__file__).parent


@pytest.mark.parametrize("aside", [False, True])
def test_lines_that_are_told_are_harmless(capsys: pytest.CaptureFixture[str], aside: bool) -> None:
    tell(f"{HOSTILE}\tx\nnext\n", aside=aside)
    assert "".join(capsys.readouterr()) == f"{KEPT}\tx\nnext\n"


def test_a_crash_is_told_harmlessly(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def unwritten(program: str, error: Exception) -> None: ...

    monkeypatch.setattr(crashes, "_written", unwritten)
    crashes.tell("evals", RuntimeError(HOSTILE), as_json=False)
    assert f"RuntimeError: {KEPT.replace('fg', 'f g')}" in capsys.readouterr().err


def test_every_part_of_a_console_is_harmless_and_its_own_styles_stay() -> None:
    held = io.StringIO()
    out = console(file=held, width=100, force_terminal=True, color_system="standard")
    table = Table(HOSTILE)
    table.add_row(Text(HOSTILE, style="bold"))
    out.print(table)
    out.print(HOSTILE, markup=False)
    out.print(Text(HOSTILE, style="red"))
    said = held.getvalue()
    assert said.count(KEPT) == 4
    assert "\x1b[31m" in said
    assert not {"\x07", "\x9b", "\u202e", "\u2066", "\r", "\x00"} & set(said)
    assert "\x1b[2J" not in said


def test_only_the_screen_makes_a_console() -> None:
    made = [
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if "rich.console" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Console"
    ]
    assert made == [], "report/screen.py makes it, which keeps it harmless"
