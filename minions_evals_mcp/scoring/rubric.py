"""Rubric arithmetic: weighted totals, thresholds that can be reached, and the judge type of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import JudgeType, Rubric, RubricCriterion
from minions_evals_mcp.domain.digests import canonical, digest
from minions_evals_mcp.domain.outcomes import Verdict
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.frozen_types import frozen_type, once

TOLERANCE = 1e-9
"""Sums of weights such as 0.1 + 0.2 may not miss their threshold by a rounding error."""


@frozen_type
class Totals:
    """A run's weighted sum and the most that it could have been."""

    score: float
    possible: float
    passed: bool


@frozen_type
class RubricInUse:
    """A rubric with its criteria in order, and the digest of all that decides a score."""

    id: str
    rubric: Rubric
    criteria: tuple[tuple[str, RubricCriterion], ...]
    digest: str

    @once
    def possible(self) -> float:
        """The most that an output can have: `Σ weight·maxScore`."""
        return math.fsum([criterion.weight * criterion.max_score for _, criterion in self.criteria])

    @once
    def takes_proposals(self) -> bool:
        """Returns whether a criterion asks for the score that the agent-run's own proposal gives."""
        return any("fromProposal" in criterion.scoring_guide for _, criterion in self.criteria)

    def weight(self, criterion_id: str) -> float:
        """The weight of a criterion of this rubric."""
        return next(criterion.weight for ident, criterion in self.criteria if ident == criterion_id)


def criterion_digest(criterion: RubricCriterion) -> str:
    """The digest of all that a judge is told of a criterion; its weight is no matter of the judge's."""
    content = criterion.model_dump(mode="json", exclude={"weight", "judge_type", "rubric_id"})
    return digest(content)


def in_use(rubric: Record[Rubric], criteria: Sequence[Record[RubricCriterion]]) -> RubricInUse:
    """The rubric as a yardstick."""
    parts = tuple((criterion.id, criterion.fields) for criterion in criteria)
    content: list[JsonValue] = [[ident, canonical(criterion.model_dump(mode="json"))] for ident, criterion in parts]
    whole = digest([rubric.id, rubric.fields.passing_threshold, *content])
    return RubricInUse(rubric.id, rubric.fields, parts, whole)


def totals(rubric: RubricInUse, verdicts: Sequence[Verdict]) -> Totals:
    """`Σ weight·score`, `Σ weight·maxScore`, and whether the threshold is reached (inclusive)."""
    by_id = {verdict.criterion_id: verdict for verdict in verdicts}
    score = math.fsum([criterion.weight * by_id[ident].score for ident, criterion in rubric.criteria])
    return Totals(score, rubric.possible, score >= rubric.rubric.passing_threshold - TOLERANCE)


def run_judge_type(rubric: RubricInUse, verdicts: Sequence[Verdict]) -> JudgeType:
    """The judge type of the criterion with the most weight, the first among equals."""
    if len(verdicts) == 1:
        return verdicts[0].judged_by_type
    by_id: dict[str, JudgeType] = {verdict.criterion_id: verdict.judged_by_type for verdict in verdicts}
    heaviest = max(rubric.criteria, key=lambda part: part[1].weight)
    return by_id[heaviest[0]]


def fraction(verdict: Verdict) -> float:
    """The verdict's score on a scale from 0 (`minScore`) to 1 (`maxScore`)."""
    return (verdict.score - verdict.min_score) / (verdict.max_score - verdict.min_score)


def threshold_note(rubric: Record[Rubric], criteria: Sequence[RubricCriterion]) -> str:
    """Returns in words from where the rubric passes, where its threshold reads like a share or no output could miss it."""
    threshold = rubric.fields.passing_threshold
    possible = math.fsum(criterion.weight * criterion.max_score for criterion in criteria)
    least = math.fsum(criterion.weight * criterion.min_score for criterion in criteria)
    words = f"rubric {rubric.id} passes from {threshold:g} of {possible:g} points ({100 * threshold / possible:.3g} %)"
    if threshold <= least + TOLERANCE:
        return f"{words}, which every output has: the lowest total is {least:g}"
    if threshold <= 1 < possible - TOLERANCE:
        return f"{words}; for {100 * threshold:.3g} % of them set passingThreshold to {threshold * possible:.6g}"
    return ""


def vet_rubric(rubric: Record[Rubric], criteria: Sequence[Record[RubricCriterion]]) -> None:
    """Raises `InvalidRecordError` for a rubric that no output could pass, or that weighs nothing."""
    name = f"rubric {rubric.id}"
    if not criteria:
        raise InvalidRecordError("a rubric needs at least one criterion", field="fields.criteriaIds", record=name)
    if all(criterion.fields.weight == 0 for criterion in criteria):
        raise InvalidRecordError(
            "all its criteria have weight 0",
            field="fields.criteriaIds",
            record=name,
            remedy="Give one a weight above 0.",
        )
    possible = sum(criterion.fields.weight * criterion.fields.max_score for criterion in criteria)
    if possible <= 0:
        raise InvalidRecordError(
            f"the highest total is {possible:g}; it must be above 0", field="fields.criteriaIds", record=name
        )
    if rubric.fields.passing_threshold > possible + TOLERANCE:
        raise InvalidRecordError(
            f"no output can reach {rubric.fields.passing_threshold:g}; the highest total is {possible:g}",
            field="fields.passingThreshold",
            record=name,
        )
