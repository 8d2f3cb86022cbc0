"""A choice of the judge replaces a model judge only: rules and people keep the criteria that are theirs."""

from __future__ import annotations

import itertools

import pytest

from minions_evals_mcp.domain.definitions import RubricCriterion
from minions_evals_mcp.engine.judge.panel import kind_of
from minions_evals_mcp.engine.request import JudgeChoice

CHOICES: tuple[JudgeChoice, ...] = ("auto", "heuristic", "llm", "human", "caller")


@pytest.mark.parametrize(("choice", "has_model"), [*itertools.product(CHOICES, (True, False))])
def test_rules_and_people_keep_their_criteria_whatever_is_chosen(choice: JudgeChoice, has_model: bool) -> None:
    def judge(kind: str) -> str:
        criterion = RubricCriterion.model_validate({"rubric_id": "r", "name": "n", "judge_type": kind})
        return kind_of(choice, criterion, has_model=has_model)

    assert (judge("heuristic"), judge("human")) == ("heuristic", "human")
    assert judge("llm") == (("llm" if has_model else "caller") if choice == "auto" else choice)
