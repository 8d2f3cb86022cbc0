"""A check under `not-`: its verdict is turned round, and its score is what is left to 1."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.assertions.table import NAMES, check
from minions_evals_mcp.scoring.checks import Checked, Subject

CALLS = (ToolCall.model_validate({"tool": "search", "arguments": {"q": "k"}}),)
TEXT = "Paris is the capital of France, and the answer is 42"
GRADED: dict[str, dict[str, object]] = {
    "tool-call-f1": {"value": ["search", "pay"], "threshold": 0.5},
    "bleu": {"value": "Paris is the capital of Spain", "threshold": 0.1},
    "gleu": {"value": "Paris is the capital of Spain", "threshold": 0.1},
    "rouge-n": {"value": "Paris is the capital of Spain", "threshold": 0.1},
    "assert-set": {"assert": [{"type": "contains", "value": "Paris"}, {"type": "contains", "value": "no"}], "threshold": 0.4},
    "foreign-scorer": {"value": {"tool": "inspect", "scorer": "f1", "targets": ["Paris is it"]}, "threshold": 0.2},
}  # fmt: skip
"""Kinds that give a share, each with a value of which the text reaches a part."""


@pytest.mark.parametrize("kind", GRADED)
def test_a_negated_graded_check_scores_what_is_left_to_one(kind: str) -> None:
    found, turned = (
        check(Assertion.model_validate({"type": name, **GRADED[kind]}), Subject(TEXT, tool_calls=CALLS))
        for name in (kind, f"not-{kind}")
    )
    assert kind in NAMES
    assert isinstance(found, Checked)
    assert isinstance(turned, Checked)
    assert 0 < found.score < 1
    assert (turned.passed, turned.score) == (not found.passed, pytest.approx(1 - found.score))
