"""The verdict of a case's rules on an output: the examination of one unit, which the door answers with a page of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.metric_scores import CheckScore
from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.engine.judge.door import grade_needs
from minions_evals_mcp.engine.judge.panel import Panel, implicit
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, ByExpectation, ByNothing, BySimilarity, Measure
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.heuristic import by_grader, explained, guide_needs, judge_by_rule
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.scoring.assertions.check_scores import CheckMeasure, check_scores, known_total
from minions_evals_mcp.scoring.assertions.decided import left_to_ask
from minions_evals_mcp.scoring.assertions.kinds.own import FUNCTION, named
from minions_evals_mcp.scoring.assertions.scoring_code import rescored, scoring_need
from minions_evals_mcp.scoring.assertions.table import asks_outside, needs
from minions_evals_mcp.scoring.checks import (
    Aggregate,
    Checked,
    Evidence,
    Need,
    OwnVerdict,
    SnippetNeed,
    Unchecked,
    Unmet,
)
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.scoring.verdicts.examination import Expectation, OutputChecks
from minions_evals_mcp.scoring.verdicts.history import SIMILAR_ENOUGH


@frozen_type
class Ruled:
    """The findings of rules. Without a rubric `whole` is all that decides, and `reason` says why.

    Under a rubric `verdicts` are those of the criteria that rules judge. `results` are all checks that were made.
    `scoring` is a person's code that judges in place of the checks, and has not run yet.
    """

    whole: Aggregate | None = None
    reason: str = ""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])
    results: tuple[Checked, ...] = ()
    scoring: SnippetNeed | None = None
    checks: tuple[CheckScore, ...] = ()
    """Each check's own score, where the case has checks of its own."""


NOTHING = Ruled()
Unruled = JudgeErrored | NotJudgeable
"""Why rules could not find anything."""


@frozen_type
class UnitExamination:
    """One output of a run with what its case is measured with. A model grades where a rule asks it to."""

    panel: Panel
    key: UnitKey
    measure: Measure
    work: Work
    own: Mapping[str, OwnVerdict | Unmet] = field(default_factory=dict[str, OwnVerdict | Unmet])
    """What the user's functions said of the output, by their names."""

    @property
    def is_lost(self) -> bool:
        """Returns whether there is nothing to look at: the time was up, or the agent failed."""
        return self.work.observed.timed_out or self.work.observed.agent_error is not None

    def needs(self) -> Sequence[Need]:
        """Returns what the rules of the case need of the outside."""
        if self.is_lost:
            return ()
        match self.measure.yardstick:
            case RubricInUse() as rubric:
                return [need for criterion in self.panel.asking(rubric) for need in guide_needs(criterion, self.work)]
            case ByAssertions() as yardstick:
                return self._checks(yardstick).needs()
            case ByExpectation(expected):
                return self._expectation(expected).needs()
            case BySimilarity() | ByNothing():
                return ()

    def answer(self, evidence: Evidence, /) -> Unruled | Ruled:
        """Returns what the rules find, or why they could not be carried out."""
        if self.is_lost:
            return NOTHING
        for missing in evidence.ungraded.values():
            return JudgeErrored(missing.reason, missing.fatal, missing.unanswered)
        match self.measure.yardstick:
            case RubricInUse() as rubric:
                return self._ruled_criteria(rubric, evidence)
            case ByAssertions() as yardstick:
                return self._ruled_checks(yardstick, evidence)
            case ByExpectation(expected):
                return _ruled_expectation(self._expectation(expected).answer(evidence), implicit(self.measure).id)
            case BySimilarity():
                return self._ruled_similarity()
            case ByNothing():
                return NOTHING

    def _checks(self, yardstick: ByAssertions) -> OutputChecks:
        assertions = yardstick.assertions
        if yardstick.asking and yardstick.threshold is None and yardstick.scoring is None:
            assertions = left_to_ask(assertions, self.work.subject)
        return OutputChecks(
            assertions,
            self.work.subject,
            yardstick.threshold,
            by_all=yardstick.scoring is not None,
            asking=bool(yardstick.asking),
        )

    def _expectation(self, expected: Json) -> Expectation:
        return Expectation(expected, self.work.observed.output, self.work.subject)

    def _ruled_criteria(self, rubric: RubricInUse, evidence: Evidence) -> Unruled | Ruled:
        verdicts: dict[str, Verdict] = {}
        results: list[Checked] = []
        for criterion in self.panel.by_rule(rubric):
            verdict, checks = judge_by_rule(criterion, self.work, evidence)
            if not isinstance(verdict, Verdict):
                return verdict
            verdicts[criterion.id] = self._graded(criterion, verdict, evidence)
            results.extend(checks)
        return Ruled(verdicts=verdicts, results=tuple(results))

    def _graded(self, criterion: Criterion, verdict: Verdict, evidence: Evidence) -> Verdict:
        """The verdict, which is the model's where it rests on its grades."""
        if self.panel.llm is None or not evidence.grades:
            return verdict
        wanted = grade_needs(guide_needs(criterion, self.work), evidence)
        return by_grader(verdict, [self.panel.llm.name]) if wanted else verdict

    def _ruled_checks(self, yardstick: ByAssertions, evidence: Evidence) -> Unruled | Ruled:
        whole = self._checks(yardstick).answer(replace(evidence, own=self.own) if self.own else evidence)
        if isinstance(whole, Unchecked):
            return _unjudged(whole, implicit(self.measure).id)
        code, threshold = yardstick.scoring, yardstick.threshold
        need = code and scoring_need(code, yardstick.assertions, whole, threshold=threshold, grades=evidence.grades)
        return Ruled(
            whole, _reason(whole), results=whole.results, scoring=need, checks=self._scores(yardstick, whole, evidence)
        )

    def _scores(self, yardstick: ByAssertions, whole: Aggregate, evidence: Evidence) -> tuple[CheckScore, ...]:
        """Each check's own score; one that the output could not be judged by is left out."""
        judged: list[tuple[str, CheckMeasure]] = []
        results = iter(whole.results)
        result = next(results, None)
        for name, digest, assertion in zip(yardstick.names, yardstick.digests, yardstick.assertions, strict=True):
            if result is None or result.type != assertion.type:
                continue
            judged.append((name, self._measure(assertion, digest, evidence)))
            result = next(results, None)
        return check_scores([name for name, _ in judged], whole.results, [measure for _, measure in judged])

    def _measure(self, assertion: Assertion, digest: str, evidence: Evidence) -> CheckMeasure:
        """Returns what the check took: a function's time, or what a model's grades cost."""
        if assertion.base_type == FUNCTION:
            own = self.own.get(named(assertion))
            return (
                CheckMeasure(digest, own.duration_ms, own.cost_usd)
                if isinstance(own, OwnVerdict)
                else CheckMeasure(digest)
            )
        if not evidence.grades or not asks_outside((assertion,)):
            return CheckMeasure(digest)
        wanted = grade_needs(needs((assertion,), self.work.subject), evidence)
        grades = [evidence.grades[need] for need in wanted if need in evidence.grades]
        if not grades:
            return CheckMeasure(digest)
        return CheckMeasure(
            self.panel.check_digest(digest, assertion),
            known_total(grade.duration_ms for grade in grades),
            known_total(grade.cost_usd for grade in grades),
        )

    def _ruled_similarity(self) -> Unruled | Ruled:
        likeness = self.work.likeness
        assert likeness is not None, "the case expects a text"
        if likeness.semantic_score is None:
            return JudgeErrored(f"similarity: {likeness.unmeasured}")
        shown = f"similarity {likeness.semantic_score:.3f}, {SIMILAR_ENOUGH:g} passes"
        reason = "; caution: ".join(("equal" if likeness.exact_match else shown, *likeness.warnings))
        return Ruled(Aggregate(likeness.passed, likeness.semantic_score, ()), reason)


@frozen_type
class Rescoring:
    """The result of a person's code on the checks of one output."""

    whole: Aggregate
    need: SnippetNeed

    def needs(self) -> Sequence[Need]:
        """That the code is run."""
        return (self.need,)

    def answer(self, evidence: Evidence, /) -> Unruled | Ruled:
        """Its verdict, in place of the checks'."""
        whole = rescored(self.whole, evidence.snippets[self.need])
        return (
            _unjudged(whole, "")
            if isinstance(whole, Unchecked)
            else Ruled(whole, _reason(whole), results=whole.results)
        )


def _reason(whole: Aggregate) -> str:
    return "; ".join(filter(None, (whole.reason, explained(whole.results))))


def _ruled_expectation(checked: Checked | Unchecked, criterion_id: str) -> Unruled | Ruled:
    if isinstance(checked, Unchecked):
        return _unjudged(checked, criterion_id)
    return Ruled(Aggregate(checked.passed, checked.score, (checked,)), checked.reason, results=(checked,))


def _unjudged(unchecked: Unchecked, criterion_id: str) -> Unruled:
    """Returns how a unit ends of which a check could not be carried out."""
    reason = f"{unchecked.type}: {unchecked.reason}"
    return NotJudgeable(criterion_id, reason) if unchecked.not_judgeable else JudgeErrored(reason)
