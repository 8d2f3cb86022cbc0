"""Judging by rule: a criterion whose scoring guide holds assertions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import yaml
from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import to_json

from minions_evals_mcp.domain.assertions import SET, Assertion
from minions_evals_mcp.domain.definitions import RubricCriterion
from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, Verdict
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.scoring.assertions.kinds.graded import GraderRequest, grades_asked
from minions_evals_mcp.scoring.assertions.kinds.similar import asks_similarity
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION, asks_outside, check_all, needs, vet
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Evidence, Need

AND = ", "
"""Between the names of several models that gave one verdict together."""
FROM_PROPOSAL = "fromProposal"
MOST_DEPTH = 50
_ASSERTIONS = TypeAdapter(tuple[Assertion, ...])
_FORM = 'Write assertions, e.g. scoringGuide: "[{type: icontains, value: refund}, {type: not-is-refusal}]".'


@lru_cache(maxsize=4096)
def guide(text: str) -> tuple[Assertion, ...] | str:
    """The assertions that a scoring guide holds, or the name of the proposal's score that it takes over.

    Raises `InvalidRecordError` for prose, and for assertions that do not fit their type.
    """
    try:
        guide_read = _loaded(text)
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidRecordError(
            f"a rule-based guide is YAML or JSON: {error}", field="fields.scoringGuide", remedy=_FORM
        ) from None
    if isinstance(guide_read, dict):
        name = guide_read.get(FROM_PROPOSAL)
        if isinstance(name, str) and len(guide_read) == 1:
            return name
        guide_read = [guide_read]
    if not isinstance(guide_read, list) or not guide_read:
        raise InvalidRecordError(
            "the guide of a rule-based criterion must contain assertions", field="fields.scoringGuide", remedy=_FORM
        )
    try:
        assertions = _ASSERTIONS.validate_json(to_json(guide_read))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidRecordError(f"{place}: {first['msg']}", field="fields.scoringGuide", remedy=_FORM) from None
    for number, assertion in enumerate(assertions):
        vet(assertion, at=f"fields.scoringGuide[{number}]")
    return assertions


def _loaded(text: str) -> JsonValue:
    """Returns what the text is as YAML; raises `YAMLError`, or `ValueError` (2026-13-31), for what could be no guide."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        # An alias can stand for gigabytes, and deep nesting overflows the stack of libyaml's composer.
        if isinstance(event, yaml.AliasEvent) or depth > MOST_DEPTH:
            raise ValueError(f"it has an alias, or is nested more than {MOST_DEPTH} deep")
    return yaml.load(text, Loader=yaml.CSafeLoader)


def is_rule(criterion: RubricCriterion) -> bool:
    """Returns whether the criterion's guide can be carried out by rule."""
    try:
        guide(criterion.scoring_guide)
    except InvalidRecordError:
        return False
    return True


def takes_proposal(criterion: RubricCriterion) -> bool:
    """Returns whether the guide takes a proposal's score over: then nobody else is asked, whoever judges the other criteria.

    Raises `InvalidRecordError` for a guide that begins so and names no score.
    """
    text = criterion.scoring_guide
    if FROM_PROPOSAL not in text or not text.lstrip(" {\"'").startswith(FROM_PROPOSAL):
        return False
    return isinstance(guide(text), str)


def guide_needs(criterion: Criterion, work: Work) -> tuple[Need, ...]:
    """The evidence that judging by this criterion will look up."""
    rules = guide(criterion.fields.scoring_guide)
    return () if isinstance(rules, str) else needs(rules, work.subject)


def guide_embeds(criterion: RubricCriterion) -> bool:
    """Returns whether judging by this criterion's guide needs an embedder."""
    rules = guide(criterion.scoring_guide)
    return not isinstance(rules, str) and asks_similarity(rules)


def guide_asks_outside(criterion: RubricCriterion) -> bool:
    """Returns whether judging by this criterion's guide may need anything to be looked up, whatever the output."""
    rules = guide(criterion.scoring_guide)
    return not isinstance(rules, str) and asks_outside(rules)


def guide_asks(criterion: RubricCriterion) -> list[GraderRequest]:
    """Whom judging by this criterion's guide asks for grades."""
    rules = guide(criterion.scoring_guide)
    return [] if isinstance(rules, str) else [*grades_asked(rules)]


def judge_by_rule(
    criterion: Criterion, work: Work, evidence: Evidence
) -> tuple[Verdict | JudgeErrored | NotJudgeable, tuple[Checked, ...]]:
    """The verdict of the criterion's assertions, `minScore + (maxScore − minScore) · aggregate`, and each check's own."""
    rules = guide(criterion.fields.scoring_guide)
    if isinstance(rules, str):
        return _from_proposal(criterion, work, rules), ()
    result = check_all(rules, work.subject, evidence=evidence)
    if not isinstance(result, Aggregate):
        if result.not_judgeable:
            return NotJudgeable(criterion.id, f"{result.type}: {result.reason}"), ()
        return JudgeErrored(f"criterion {criterion.id}: {result.type}: {result.reason}"), ()
    fields = criterion.fields
    low, high = fields.min_score, fields.max_score
    score = min(high, max(low, low * (1 - result.score) + high * result.score))  # exact at both ends in floats, too
    return by_rule(criterion, score, explained(result.results)), result.results


def by_rule(criterion: Criterion, score: float, rationale: str) -> Verdict:
    """A verdict given by rule, with certainty."""
    fields = criterion.fields
    return Verdict.trusted(
        criterion_id=criterion.id,
        score=score,
        min_score=fields.min_score,
        max_score=fields.max_score,
        rationale=rationale,
        judged_by=SCORER_VERSION,
        judged_by_type="heuristic",
        confidence=1.0,
    )


def by_grader(verdict: Verdict, names: Iterable[str]) -> Verdict:
    """A verdict by rules that rest on models' grades: the models are who judged, and told nothing of how sure they are."""
    judged_by = {
        "judged_by": AND.join(dict.fromkeys(names)),
        "judged_by_type": "llm",
        "confidence": None,
    }
    return verdict.model_copy(update=judged_by)


def explained(results: Sequence[Checked]) -> str:
    """The reasons of all checks, the failed ones first. A set is told by its parts."""
    told = [line for check in results for line in _lines(check)]
    ordered = sorted(told, key=lambda line: line[0]) if len(told) > 1 else told
    return "; ".join(f"{'passed' if passed else 'failed'} {reason}" for passed, reason in ordered)


def _lines(check: Checked) -> Sequence[tuple[bool, str]]:
    """Verdict and reason of the check, or of each part of a set. Where a set's threshold decides, it has one line."""
    parts = check.parts if check.type == SET else ()
    if not parts or all(part.passed for part in parts) != check.passed:
        return [(check.passed, f"{check.type}: {check.reason}")]
    return [(part.passed, f"{_named(part)}: {part.reason}") for part in parts]


def _named(part: Checked) -> str:
    return f"{part.type} ({part.metric})" if part.metric else part.type


def _from_proposal(criterion: Criterion, work: Work, name: str) -> Verdict | JudgeErrored:
    if name not in work.proposal_scores:
        return JudgeErrored(
            f"criterion {criterion.id}: no proposal-draft of this agent-run gives a score named {name!r}"
        )
    fields = criterion.fields
    score = work.proposal_scores[name]
    if not fields.min_score <= score <= fields.max_score:
        return JudgeErrored(
            f"criterion {criterion.id}: the proposal's {name} is {score:g}, outside the criterion's range"
        )
    return by_rule(criterion, score, f"score given by the proposal-draft: {name} = {score:g}")
