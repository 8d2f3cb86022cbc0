"""The judges of a run: who judges which criterion, under which digests, and whether they are to be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minions_evals_mcp.domain.assertions import Assertion, Grader
from minions_evals_mcp.domain.definitions import Json, RubricCriterion
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.outcomes import IMPLICIT, Observed
from minions_evals_mcp.embedding.local import is_local
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.own_judges import OwnJudges
from minions_evals_mcp.engine.judge.yardstick import (
    ByAssertions,
    ByExpectation,
    ByNothing,
    BySimilarity,
    Measure,
    Yardstick,
)
from minions_evals_mcp.engine.request import JudgeChoice, JudgeKind
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.heuristic import guide_asks, guide_asks_outside, guide_embeds, takes_proposal
from minions_evals_mcp.judges.task import Criterion, Work
from minions_evals_mcp.scoring.assertions.kinds.graded import GraderRequest, grades_asked
from minions_evals_mcp.scoring.assertions.kinds.similar import embedders_asked
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import jobs

if TYPE_CHECKING:
    from minions_evals_mcp.judges.llm import LlmJudge

NO_GUIDE = "does the output do what the case asks for?"


def kind_of(choice: JudgeChoice, criterion: RubricCriterion, *, has_model: bool) -> JudgeKind:
    """The judge of that criterion under that choice. Only a model judge is replaced: rules and people keep what is theirs.

    Without a model, and without a choice, the caller judges in its place.
    """
    if takes_proposal(criterion):
        return "heuristic"
    if criterion.judge_type != "llm":
        return criterion.judge_type
    if choice == "auto":
        return "llm" if has_model else "caller"
    return choice


def stands_in(choice: JudgeChoice, rubric: RubricInUse, *, has_model: bool) -> bool:
    """Whether, under that choice, another judges a criterion of the rubric than the judge that it is written for."""
    return any(
        kind_of(choice, criterion, has_model=has_model) != kind_of("auto", criterion, has_model=True)
        for _, criterion in rubric.criteria
    )


def implicit(measure: Measure) -> Criterion:
    """The criterion under which a case without a rubric is judged: its score is 0 to the case's `maxScore`."""
    case = measure.case
    fields = RubricCriterion.trusted(
        rubric_id=f"{IMPLICIT}{case.id}"[:128],
        name=case.fields.name,
        description=NO_GUIDE,
        max_score=case.fields.max_score,
    )
    return Criterion(f"{IMPLICIT}{case.id}"[:128], fields)


def outside_criteria(rubric: RubricInUse, choice: JudgeChoice, *, has_model: bool) -> tuple[Criterion, ...]:
    """The criteria that the caller or a person judges under that choice, in order."""
    return tuple(
        Criterion(ident, fields)
        for ident, fields in rubric.criteria
        if kind_of(choice, fields, has_model=has_model) in {"caller", "human"}
    )


@frozen_type
class _JudgedRubric:
    """The parts of a vetted rubric under this panel, worked out once: whom rules ask for grades, whether they measure
    likeness, the digest of all who judge by it, whether the run's model is one of them or any is, the criteria that
    rules judge, and those of them whose guide may ask anything outside.
    """

    asks: tuple[GraderRequest, ...]
    embeds: bool
    digest: str
    asks_model: bool
    asks_any_model: bool
    by_rule: tuple[Criterion, ...]
    asking: tuple[Criterion, ...]


@dataclass(slots=True, eq=False)
class Panel:
    """All who judge in one run."""

    engine: Engine
    choice: JudgeChoice
    llm: LlmJudge | None
    own: OwnJudges | None = None
    """The judges that assertions name; None where no model is to judge."""
    known: dict[str, tuple[tuple[Criterion, JudgeKind], ...]] = field(
        default_factory=dict[str, tuple[tuple[Criterion, JudgeKind], ...]]
    )
    """The parts of the rubrics that were met so far, by the rubric's digest."""
    judged: dict[str, _JudgedRubric] = field(default_factory=dict[str, "_JudgedRubric"])
    """What those come to that were vetted, likewise."""
    identities: dict[tuple[JudgeKind, str], str] = field(default_factory=dict[tuple[JudgeKind, str], str])
    """The digests of those kinds of judges that were met so far, with the embedders that they measure with."""

    def kinds(self, rubric: RubricInUse) -> dict[str, JudgeKind]:
        """Returns who judges each criterion."""
        has_model = self.llm is not None
        return {ident: kind_of(self.choice, criterion, has_model=has_model) for ident, criterion in rubric.criteria}

    def identity(self, kind: JudgeKind, *, embedders: str = "") -> str:
        """The digest of a kind of judge; rules that measure likeness judge by their embedders, too."""
        if (kind, embedders) not in self.identities:
            self.identities[kind, embedders] = self._identity(kind, embedders)
        return self.identities[kind, embedders]

    def _identity(self, kind: JudgeKind, embedders: str) -> str:
        match kind:
            case "heuristic":
                about: Json = {"judge": "heuristic", "scorer": SCORER_VERSION}
                return digest({**about, "embedder": embedders} if embedders else about)
            case "llm":
                assert self.llm is not None
                return self.llm.digest()
            case "human" | "caller":
                return digest({"judge": kind})

    def digest(self, measure: Measure) -> str:
        """The digest of all who judge the case."""
        if isinstance(measure.yardstick, RubricInUse):
            return self._judged(measure.yardstick).digest
        kind = "human" if isinstance(measure.yardstick, ByNothing) else "heuristic"
        return self._with_graders(self.identity(kind, embedders=self._embedders(measure.yardstick)), self.asks(measure))

    def check_digest(self, digest_so_far: str, assertion: Assertion) -> str:
        """The digest of a check together with those of the models that grade for it."""
        return self._with_graders(digest_so_far, [*grades_asked((assertion,))])[:16]

    def _with_graders(self, digest_so_far: str, asks: Sequence[GraderRequest]) -> str:
        """That digest together with those of the models that grade for rules."""
        asked = [question for question in asks if self.has(question)]
        if not asked:
            return digest_so_far
        from minions_evals_mcp.judges.grading import grader_digest  # noqa: PLC0415  only where a model grades

        digests = {grader_digest(self.judge(question.judge), question.template) for question in asked}
        return digest([digest_so_far, *sorted(digests)])

    def embedder(self, measure: Measure) -> str | None:
        """The embedders that the case's runs are measured with, by name; None where nothing about them is."""
        yardstick = measure.yardstick
        if isinstance(yardstick, RubricInUse):
            is_compared, names = self._judged(yardstick).embeds or measure.expected is not None, ""
        else:
            names = self._embedders(yardstick)
            is_compared = not names and measure.expected is not None
        return (self.engine.embedder().name if is_compared else names) or None

    def leaves_likeness(self, measure: Measure, seen: Observed) -> bool:
        """Returns whether the likeness can be left until the run is read: no verdict rests on it, and reading costs nothing."""
        by_others = isinstance(measure.yardstick, RubricInUse) and not seen.timed_out and seen.agent_error is None
        return by_others and is_local(self.engine.embedder().name)

    def _embeds(self, rubric: RubricInUse) -> dict[str, str]:
        """The embedder of each criterion; empty for those that are not judged by rules which measure likeness."""
        kinds = self.kinds(rubric)
        return {
            ident: self.engine.embedder().name if kinds[ident] == "heuristic" and guide_embeds(fields) else ""
            for ident, fields in rubric.criteria
        }

    def _embedders(self, yardstick: Yardstick) -> str:
        """The embedders that a verdict by that yardstick rests on; a rubric's criteria are asked one by one."""
        if isinstance(yardstick, ByAssertions) and not yardstick.asking:
            return ""
        match yardstick:
            case BySimilarity():
                return self.engine.embedder().name
            case ByAssertions():
                graders = embedders_asked(yardstick.asking)
                return ", ".join(
                    sorted({grader.label if grader else self.engine.embedder().name for grader in graders})
                )
            case RubricInUse() | ByExpectation() | ByNothing():
                return ""

    def asks(self, measure: Measure) -> Sequence[GraderRequest]:
        """Whom the rules of the case ask for grades."""
        match measure.yardstick:
            case ByAssertions():
                return [*grades_asked(measure.yardstick.asking)]
            case RubricInUse():
                return self._judged(measure.yardstick).asks
            case ByExpectation() | ByNothing() | BySimilarity():
                return ()

    def has(self, asks: GraderRequest) -> bool:
        """Returns whether there is the judge that is asked."""
        return (self.llm if asks.judge is None else self.own) is not None

    def judge(self, grader: Grader | None) -> LlmJudge:
        """The judge that an assertion names, else the run's."""
        judge = self.llm if grader is None else self.own and self.own.judge(grader)
        assert judge is not None, "vetted before anything ran"
        return judge

    def named_judge(self, name: str) -> LlmJudge:
        """The judge that a need names."""
        return self.judge(Grader.model_validate_json(name) if name else None)

    def asks_model(self, measure: Measure) -> bool:
        """Returns whether the run's model judges any criterion of the case, or grades for its rules."""
        if isinstance(measure.yardstick, RubricInUse):
            return self._judged(measure.yardstick).asks_model
        return any(asks.judge is None for asks in self.asks(measure))

    def asks_any_model(self, measure: Measure) -> bool:
        """The same, of whatever model: one that an assertion names for itself, too."""
        if isinstance(measure.yardstick, RubricInUse):
            return self._judged(measure.yardstick).asks_any_model
        return any(asks.judge is None or self.has(asks) for asks in self.asks(measure))

    def asks_nothing(self, measure: Measure) -> bool:
        """Returns whether the case has a rubric of which no judge, whoever it is, asks a model or anything else outside."""
        if not isinstance(measure.yardstick, RubricInUse):
            return False
        judged = self._judged(measure.yardstick)
        return not (judged.asking or judged.asks_any_model)

    def criteria(self, measure: Measure) -> tuple[Criterion, ...]:
        """The criteria that the case is judged by, in order."""
        if not isinstance(measure.yardstick, RubricInUse):
            return (implicit(measure),)
        return tuple(criterion for criterion, _ in self.parts(measure))

    def by_rule(self, rubric: RubricInUse) -> tuple[Criterion, ...]:
        """The criteria that rules judge, in order."""
        return self._judged(rubric).by_rule

    def asking(self, rubric: RubricInUse) -> tuple[Criterion, ...]:
        """Those of them whose guide may ask anything outside."""
        return self._judged(rubric).asking

    def parts(self, measure: Measure) -> tuple[tuple[Criterion, JudgeKind], ...]:
        """The criteria of the case's rubric with who judges each, in order; none where it has no rubric."""
        rubric = measure.yardstick
        if not isinstance(rubric, RubricInUse):
            return ()
        parts = self.known.get(rubric.digest)
        if parts is None:
            kinds = self.kinds(rubric)
            self.known[rubric.digest] = tuple(
                (Criterion(ident, fields), kinds[ident]) for ident, fields in rubric.criteria
            )
            return self.known[rubric.digest]
        return parts

    def _judged(self, rubric: RubricInUse) -> _JudgedRubric:
        """Returns what the rubric comes to under this panel."""
        judged = self.judged.get(rubric.digest)
        if judged is None:
            judged = self.judged[rubric.digest] = self._worked_out(rubric)
        return judged

    def _worked_out(self, rubric: RubricInUse) -> _JudgedRubric:
        kinds, embeds = self.kinds(rubric), self._embeds(rubric)
        ruled = tuple(Criterion(ident, fields) for ident, fields in rubric.criteria if kinds[ident] == "heuristic")
        asks = tuple(asks for criterion in ruled for asks in guide_asks(criterion.fields))
        judges = digest([[ident, self.identity(kind, embedders=embeds[ident])] for ident, kind in kinds.items()])
        judged = "llm" in kinds.values()
        return _JudgedRubric(
            asks,
            any(embeds.values()),
            self._with_graders(judges, asks),
            judged or any(question.judge is None for question in asks),
            judged or any(question.judge is None or self.has(question) for question in asks),
            ruled,
            tuple(criterion for criterion in ruled if guide_asks_outside(criterion.fields)),
        )

    def about(self, criterion: Criterion, kind: JudgeKind, work: Work) -> jobs.VerdictKey:
        """Returns what a verdict of that kind of judge on the output is kept under."""
        return jobs.VerdictKey(work.digest, criterion.digest, self.identity(kind))
