"""What the first hour of four users found, row by row, and the tests that show it through an interface.

The rows are those of the issue First hour. Their tests stand in the file of what they test, and those of rows that had none stand here.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

import pytest

from minions_evals_mcp import Case, EvaluationResult, evaluate
from tests.shared.cli.terminal import ROOT

HERE = "acceptance/test_first_hour_rows.py"
CASES = [
    Case({"question": "Capital of France?"}, expected="Paris"),
    Case({"question": "Capital of Italy?"}, expected="Rome"),
]
ROWS: dict[int, tuple[str, tuple[tuple[str, str], ...]]] = {
    2: ("two folders with the same name make a false regression", (
        (HERE, "test_two_folders_outside_a_project_share_no_name"),
    )),
}  # fmt: skip


@lru_cache
def _tests_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_tests_that_exist(row: int) -> None:
    _, tests = ROWS[row]
    assert tests
    assert not [(file, name) for file, name in tests if name not in _tests_of(file)]


def right(question: str) -> str:
    return "Paris" if "France" in question else "Rome"


def wrong(question: str) -> str:
    return f"Is it {question[-7:-1]}?"


def test_two_folders_outside_a_project_share_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("MINIONS_EVALS_DB", raising=False)
    found: list[EvaluationResult] = []
    for folder, task in (("a", right), ("b", wrong), ("deep/b", wrong), ("a", wrong)):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        found.append(evaluate(task, CASES, checks=["icontains"], name="capitals", progress=False))
    first, second, third, again = found
    assert [result.name for result in found] == ["capitals", "b/capitals", "b-2/capitals", "capitals"]
    assert "b/capitals: failed; the first run of this name" in str(second)
    assert "as b/capitals: capitals is the name of another folder's evaluation there" in str(second)
    assert "the first run of this name" in str(third)
    assert again.before == first.run_id
    assert "regression" in str(again)
