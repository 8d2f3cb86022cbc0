"""Every outcome at every export of a config's answer: what has no verdict is no pass anywhere."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.scripted_model import scripted_model
from tests.workshop import place_store

CONFIG = """
prompts: ["{{q}}, first", "{{q}}, second"]
providers: [PROVIDER]
tests: [{vars: {q: asked}ASSERT}]
"""
BY_MODEL = "provider: 'openai:judge', rubricPrompt"
BY_PLACE = f"{{type: select-best, value: best, {BY_MODEL}: SAY 1}}"
CONTAINS = "{type: contains, value: asked}"
SELECTED = "selected"
OUTCOMES: dict[str, tuple[str, list[str]]] = {
    "passed": ("passed", [CONTAINS]),
    "failed": ("failed", ["{type: contains, value: nothing}"]),
    "chosen": (SELECTED, [CONTAINS, "{type: max-score}"]),
    "no check": ("none", []),
    "target error": ("none", [CONTAINS]),
    "judge error": ("none", [f"{{type: llm-rubric, value: kind, {BY_MODEL}: SAY it depends}}"]),
    "judge error beside a check": ("none", [CONTAINS, f"{{type: llm-rubric, value: kind, {BY_MODEL}: SAY it depends}}"]),
    "unsupported check": ("none", ["{type: perplexity, threshold: 5}"]),
    "a judge that contradicts itself": ("none", [BY_PLACE]),
    "a judge that contradicts itself beside a check": ("none", [CONTAINS, BY_PLACE]),
    "a judge that contradicts itself beside a choice": ("none", [CONTAINS, "{type: max-score}", BY_PLACE]),
}  # fmt: skip
"""Each outcome with its verdict and the assertions that lead to it."""
CODES = {"passed": 0, SELECTED: 0, "failed": 1, "none": 3}


def _promptfoo(results: list[dict[str, Any]]) -> list[bool]:
    for result in results:
        assert result["success"] or result["score"] == 0, "no verdict has no score"
        assert result["success"] == (result["failureReason"] == 0)
        assert (result["gradingResult"] or {}).get("pass", False) == result["success"]
    return [result["success"] for result in results]


def _whole(document: Any) -> list[bool]:
    results = document["results"]
    (passes, stats) = _promptfoo(results["results"]), results["stats"]
    assert stats["successes"] == sum(passes) == sum(prompt["metrics"]["testPassCount"] for prompt in results["prompts"])
    assert stats["successes"] + stats["failures"] + stats["errors"] == len(passes)
    return passes


def _csv(text: str) -> list[bool]:
    head, row = csv.reader(io.StringIO(text))
    return [cell == "True" for name, cell in zip(head, row, strict=True) if name.endswith(" success")]


def _junit(text: str) -> list[bool]:
    return [len(case) == 0 for case in ET.fromstring(text).iter("testcase")]  # noqa: S314  our own file


def _answer(text: str) -> list[bool]:
    answer = json.loads(text)
    (row,) = answer["rows"]
    passes = [cell["success"] for cell in row["cells"]]
    assert row["holds"] == ((True in passes) if row["selections"] else all(passes))
    assert [column["passed"] for column in answer["columns"]] == [int(passed) for passed in passes]
    return passes


FILES: dict[str, Callable[[str], list[bool]]] = {
    "r.json": lambda text: _whole(json.loads(text)),
    "r.yaml": lambda text: _whole(yaml.safe_load(text)),
    "r.jsonl": lambda text: _promptfoo([json.loads(line) for line in text.splitlines()]),
    "r.csv": _csv,
    "r.xml": _junit,
    "r.html": lambda text: [sign == "✓" for sign in re.findall('<p class="mark">(.)', text)],
}
"""How each file tells which of the two outputs passed."""


@pytest.fixture(scope="module")
def model() -> Generator[str]:
    with scripted_model() as address:
        yield address


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_no_export_of_a_config_calls_a_pass_what_has_no_verdict(tmp_path: Path, model: str, outcome: str) -> None:
    verdict, assertions = OUTCOMES[outcome]
    place_store(tmp_path)
    at = Terminal(tmp_path).with_env(OPENAI_API_KEY="sk-of-nobody", OPENAI_BASE_URL=f"{model}/v1")
    checks = f", assert: [{', '.join(assertions)}]" if assertions else ""
    provider = "'exec:sh -c \"exit 3\"'" if outcome == "target error" else "echo"
    at.file("c.yaml", CONFIG.replace("ASSERT", checks).replace("PROVIDER", provider))
    files = [part for name in FILES for part in ("-o", name)]
    told = at.run("eval", "c.yaml", "--yes", "--allow-unsupported", "--fail", "--json", *files)
    expected = {"passed": [True, True], SELECTED: [True, False]}.get(verdict, [False, False])
    found = {name: read((tmp_path / name).read_text()) for name, read in FILES.items()} | {"--json": _answer(told.out)}
    assert found == dict.fromkeys(found, expected), told.err
    assert told.code == CODES[verdict], told.err
    shown = at.run("eval", "c.yaml", "--yes", "--allow-unsupported").out
    assert shown.count("✓") == sum(expected), shown
