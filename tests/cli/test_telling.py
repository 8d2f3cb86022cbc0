"""What a command says to people fits their terminal; what a program reads is left as it is."""

from __future__ import annotations

import io
import sys

import pytest

from minions_evals_mcp.cli.telling import tell

SAID = "audit: none of the mutants passes the check, and no case can be cheated\n    found: " + "x" * 50 + "\n"


class Screen(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_lines_are_folded_between_words_at_a_terminal_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, file = Screen(), io.StringIO()
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", file)
    tell(SAID)
    tell(SAID, aside=True)
    first, second, third, fourth, end = screen.getvalue().split("\n")
    assert (first, second) == ("audit: none of the mutants passes the", "  check, and no case can be cheated")
    assert (third, fourth, end) == ("    found:", "      " + "x" * 50, "")
    assert file.getvalue() == SAID
