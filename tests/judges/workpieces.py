"""Criteria and outputs in one line."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import RubricCriterion
from minions_evals_mcp.domain.outcomes import Observed
from minions_evals_mcp.judges.task import Criterion, Work

Json = dict[str, JsonValue]


def criterion(ident: str = "c1", *, guide: str = "", low: float = 0, high: float = 1, **fields: object) -> Criterion:
    named = {"rubric_id": "r", "name": ident, "scoring_guide": guide, "min_score": low, "max_score": high}
    return Criterion(ident, RubricCriterion.model_validate({**named, **fields}))


def work(
    text: str | Json = "The refund is on its way.",
    *,
    inputs: Json | None = None,
    expected: Json | None = None,
    proposal_scores: Mapping[str, float] | None = None,
    **seen: JsonValue,
) -> Work:
    """The text (or the whole output) as the answer to a question."""
    output: Json = {"output": text} if isinstance(text, str) else text
    asked: Json = {"question": "Where is my refund?"} if inputs is None else inputs
    return Work(asked, expected, Observed.model_validate({"output": output, **seen}), proposal_scores or {})
