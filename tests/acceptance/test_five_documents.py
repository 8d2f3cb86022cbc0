"""Each of the 158 statements of the five documents names the tests that show it, and these tests exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "development" / "five-documents.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def _tests_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_statement_names_tests_that_exist() -> None:
    rows = ROW.findall(PAGE.read_text("utf-8"))
    assert [int(number) for number, _, _ in rows] == [*range(1, 159)]
    named = {int(number): NAMED.findall(shown) for number, _, shown in rows}
    assert [number for number, tests in named.items() if not tests] == []
    held = {file: _tests_in(ROOT / file) for file in {file for tests in named.values() for file, _ in tests}}
    assert [(number, test) for number, tests in named.items() for file, test in tests if test not in held[file]] == []
