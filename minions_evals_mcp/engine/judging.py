"""Who judges which criterion of a run, and what they said: rules first, then kept verdicts, then paid ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

import anyio

from minions_evals_mcp.domain.assertions import Grader, ScoringCode
from minions_evals_mcp.domain.definitions import Json, JudgeType, RubricCriterion
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.outcomes import Awaiting, JudgeErrored, MetricScore, NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.compose import WANTS_JSON, Judged
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.evidence import fetched, with_opened
from minions_evals_mcp.engine.grading import Grades, all_by_grader, by_grader, guide_grades
from minions_evals_mcp.engine.likeness import expects_text
from minions_evals_mcp.engine.measures import ByAssertions, ByExpectation, ByNothing, BySimilarity, Measure, Yardstick
from minions_evals_mcp.engine.own_judges import OwnJudges
from minions_evals_mcp.engine.request import JudgeChoice, JudgeKind
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.judges.grading import grader_digest
from minions_evals_mcp.judges.heuristic import by_rule, explained, guide_embeds, guide_needs, is_rule, judge_by_rule
from minions_evals_mcp.judges.llm import LlmJudge
from minions_evals_mcp.judges.packets import packet, packet_digest
from minions_evals_mcp.judges.task import Criterion, Said, Work
from minions_evals_mcp.scoring.assertions import SCORER_VERSION, check_all, needs
from minions_evals_mcp.scoring.assertions.graded import Asks, grades_asked
from minions_evals_mcp.scoring.assertions.scoring_code import rescored, scoring_need
from minions_evals_mcp.scoring.assertions.similar import embedders_asked
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Evidence, GradeNeed, Need, Unchecked
from minions_evals_mcp.scoring.expected import expected_needs, meets
from minions_evals_mcp.scoring.history import SIMILAR_ENOUGH
from minions_evals_mcp.scoring.metrics import named_scores
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import jobs
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.database import Ticket

Decision = Judged | JudgeErrored | NotJudgeable | Awaiting
NO_GUIDE = "does the output do what the case asks for?"


def kind_of(choice: JudgeChoice, criterion: RubricCriterion, *, has_model: bool) -> JudgeKind:
    """Who judges that criterion under that choice; without a model the caller does."""
    wanted = criterion.judge_type if choice == "auto" else choice
    return "caller" if wanted == "llm" and choice == "auto" and not has_model else wanted


def implicit(measure: Measure) -> Criterion:
    """The criterion under which a case without a rubric is judged: its score is 0 to the case's `maxScore`."""
    case = measure.case
    fields = RubricCriterion(
        rubric_id=f"implicit:{case.id}"[:128],
        name=case.fields.name,
        description=NO_GUIDE,
        max_score=case.fields.max_score,
    )
    return Criterion(f"implicit:{case.id}"[:128], fields)


def outside_criteria(rubric: RubricInUse, choice: JudgeChoice, *, has_model: bool) -> tuple[Criterion, ...]:
    """The criteria that the caller or a person judges under that choice, in order."""
    return tuple(
        Criterion(ident, fields)
        for ident, fields in rubric.criteria
        if kind_of(choice, fields, has_model=has_model) in {"caller", "human"}
    )


@dataclass(slots=True, eq=False)
class Judging:
    """The judges of one run, and what they keep between its units."""

    engine: Engine
    choice: JudgeChoice
    llm: LlmJudge | None
    fresh: bool
    own: OwnJudges | None = None
    """The judges that assertions name; None where no model is to judge."""
    digests: dict[str, str] = field(default_factory=dict[str, str])
    criteria: dict[str, tuple[Criterion, ...]] = field(default_factory=dict[str, tuple[Criterion, ...]])
    given: dict[tuple[str, str], Verdict] = field(default_factory=dict[tuple[str, str], Verdict])
    """Verdicts that are handed in right now, by test-run and criterion; written with the run that they complete."""
    pending: deque[Ticket[None]] = field(default_factory=deque[Ticket[None]])

    def kinds(self, rubric: RubricInUse) -> dict[str, JudgeKind]:
        """Who judges each criterion."""
        has_model = self.llm is not None
        return {ident: kind_of(self.choice, criterion, has_model=has_model) for ident, criterion in rubric.criteria}

    def identity(self, kind: JudgeKind, *, embedders: str = "") -> str:
        """The digest of a kind of judge; rules that measure likeness judge by their embedders, too."""
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
        found = self._digest(measure)
        asked = {grader_digest(self._judge(one.judge), one.template) for one in self._asks(measure) if self._has(one)}
        return digest([found, *sorted(asked)]) if asked else found

    def _digest(self, measure: Measure) -> str:
        if isinstance(measure.yardstick, RubricInUse):
            rubric = measure.yardstick
            if rubric.digest not in self.digests:
                kinds, embeds = self.kinds(rubric), self._embeds(rubric)
                self.digests[rubric.digest] = digest(
                    [[ident, self.identity(kind, embedders=embeds[ident])] for ident, kind in kinds.items()]
                )
            return self.digests[rubric.digest]
        kind = "human" if isinstance(measure.yardstick, ByNothing) else "heuristic"
        return self.identity(kind, embedders=self._embedders(measure.yardstick))

    def embedder(self, measure: Measure) -> str | None:
        """The embedders that the case's runs are measured with, by name; None where nothing about them is."""
        rubric = measure.yardstick
        by_guide = isinstance(rubric, RubricInUse) and any(self._embeds(rubric).values())
        names = self._embedders(measure.yardstick)
        if not names and (by_guide or expects_text(measure.case.fields)):
            names = self.engine.embedder().name
        return names or None

    def _embeds(self, rubric: RubricInUse) -> dict[str, str]:
        """The embedder of each criterion; empty for those that are not judged by rules which measure likeness."""
        kinds = self.kinds(rubric)
        return {
            ident: self.engine.embedder().name if kinds[ident] == "heuristic" and guide_embeds(fields) else ""
            for ident, fields in rubric.criteria
        }

    def _embedders(self, yardstick: Yardstick) -> str:
        """The embedders that a verdict by that yardstick rests on; a rubric's criteria are asked one by one."""
        match yardstick:
            case BySimilarity():
                return self.engine.embedder().name
            case ByAssertions():
                asked = embedders_asked(yardstick.assertions)
                return ", ".join(sorted({one.shown if one else self.engine.embedder().name for one in asked}))
            case RubricInUse() | ByExpectation() | ByNothing():
                return ""

    def _asks(self, measure: Measure) -> list[Asks]:
        """Whom the rules of the case ask for grades."""
        match measure.yardstick:
            case ByAssertions():
                return [*grades_asked(measure.yardstick.assertions)]
            case RubricInUse():
                kinds = self.kinds(measure.yardstick)
                ruled = (fields for ident, fields in measure.yardstick.criteria if kinds[ident] == "heuristic")
                return [asks for fields in ruled for asks in guide_grades(fields)]
            case ByExpectation() | ByNothing() | BySimilarity():
                return []

    def _has(self, asks: Asks) -> bool:
        """Whether there is the judge that is asked."""
        return (self.llm if asks.judge is None else self.own) is not None

    def _judge(self, grader: Grader | None) -> LlmJudge:
        judge = self.llm if grader is None else self.own and self.own.judge(grader)
        assert judge is not None, "vetted before anything ran"
        return judge

    def _named_judge(self, name: str) -> LlmJudge:
        return self._judge(Grader.model_validate_json(name) if name else None)

    def vet(self, measure: Measure) -> None:
        """Raises where the chosen judge cannot judge the case, or one that it names is not to be had.

        Called before anything runs: `UnsupportedError` for the first, `BadInputError` for the second.
        """
        self._vet_criteria(measure)
        for asks in self._asks(measure):
            if not self._has(asks):
                raise UnsupportedError(
                    f"test-case {measure.case.id}: an assertion that a model grades needs one, under --judge auto or llm.",
                    remedy="Set ANTHROPIC_API_KEY, or name one with --judge-model provider:model.",
                )
            self._judge(asks.judge)
        if self.own is not None and isinstance(measure.yardstick, ByAssertions):
            for grader in embedders_asked(measure.yardstick.assertions):
                if grader is not None:
                    self.own.embedder(grader)

    def _vet_criteria(self, measure: Measure) -> None:
        if not isinstance(measure.yardstick, RubricInUse):
            return
        kinds = self.kinds(measure.yardstick)
        for ident, criterion in measure.yardstick.criteria:
            if kinds[ident] == "heuristic" and not is_rule(criterion):
                raise UnsupportedError(
                    f"criterion {ident} of rubric {measure.yardstick.id} cannot be judged by rule: its scoringGuide is prose.",
                    remedy="Write assertions into the guide, or choose --judge llm, caller or human.",
                )
            if kinds[ident] == "llm" and self.llm is None:
                raise UnsupportedError(
                    "--judge llm needs a model.",
                    remedy="Set ANTHROPIC_API_KEY, or name one with --judge-model provider:model; without a key use --judge caller.",
                )

    def asks_model(self, measure: Measure) -> bool:
        """Whether the run's model judges any criterion of the case, or grades for its rules."""
        by_model = isinstance(measure.yardstick, RubricInUse) and "llm" in self.kinds(measure.yardstick).values()
        return by_model or any(asks.judge is None for asks in self._asks(measure))

    async def decide(self, key: UnitKey, measure: Measure, work: Work) -> Decision:
        """What all judges of the case say of the output."""
        if work.observed.timed_out or work.observed.agent_error is not None:
            return self._lost(measure, work)
        match measure.yardstick:
            case RubricInUse():
                return await self._by_rubric(key, measure, measure.yardstick, work)
            case ByAssertions():
                return await self._by_assertions(key, measure, measure.yardstick, work)
            case ByExpectation():
                return await self._by_expectation(measure, measure.yardstick, work)
            case BySimilarity():
                return self._by_similarity(measure, work)
            case ByNothing():
                return self._ask_outside(key, measure, (implicit(measure),), work, "human")

    def _lost(self, measure: Measure, work: Work) -> Judged:
        """A run that produced nothing to look at: `minScore` on every criterion."""
        seen = work.observed
        limit = measure.case.fields.timeout_ms
        why = (
            f"the time limit of {limit} ms was exceeded" if seen.timed_out else f"the agent failed: {seen.agent_error}"
        )
        at = self.engine.clock()
        verdicts = tuple(
            (by_rule(criterion, criterion.fields.min_score, f"no output: {why}"), at)
            for criterion in self._criteria(measure)
        )
        return Judged(verdicts, self.digest(measure), passed=False, embedder=self.embedder(measure))

    def _criteria(self, measure: Measure) -> tuple[Criterion, ...]:
        rubric = measure.yardstick
        if not isinstance(rubric, RubricInUse):
            return (implicit(measure),)
        if rubric.digest not in self.criteria:
            self.criteria[rubric.digest] = tuple(Criterion(ident, fields) for ident, fields in rubric.criteria)
        return self.criteria[rubric.digest]

    async def _evidence(self, wanted: Sequence[Need]) -> Evidence:
        engine = self.engine
        own = self.own and self.own.named_embedder
        return await fetched(
            wanted, regexes=engine.regexes, snippets=engine.snippets, embedder=engine.embedder, own_embedder=own
        )

    async def _with_grades(
        self, key: UnitKey, wanted: Sequence[Need], work: Work, evidence: Evidence
    ) -> Evidence | JudgeErrored:
        """The evidence with the grades that are needed besides."""
        grades = [need for need in with_opened(wanted, evidence) if isinstance(need, GradeNeed)]
        asked = [need for need in grades if (self.own if need.judge else self.llm) is not None]
        if not asked:
            return evidence
        found = await Grades(self.engine, self._named_judge, self.fresh, self.keep).fetched(key, asked, work)
        return found if isinstance(found, JudgeErrored) else replace(evidence, grades=found)

    async def _by_assertions(self, key: UnitKey, measure: Measure, yardstick: ByAssertions, work: Work) -> Decision:
        found = await self.checked(key, yardstick, work)
        if isinstance(found, JudgeErrored):
            return found
        reason = "; ".join(filter(None, (found.reason, explained(found.results))))
        judged = self._implied(measure, found.score, reason, found.results, passed=found.passed)
        judges = [self._judge(asks.judge) for asks in self._asks(measure) if self._has(asks)]
        return all_by_grader(judged, judges) if judges else judged

    async def checked(self, key: UnitKey, yardstick: ByAssertions, work: Work) -> Aggregate | JudgeErrored:
        """The verdict of each assertion and of all together; grades that are kept are not asked for again."""
        subject = work.subject()
        wanted = needs(yardstick.assertions, subject)
        evidence = await self._with_grades(key, wanted, work, await self._evidence(wanted))
        if isinstance(evidence, JudgeErrored):
            return evidence
        found = check_all(yardstick.assertions, subject, threshold=yardstick.threshold, evidence=evidence)
        if yardstick.scoring is not None and isinstance(found, Aggregate):
            found = await self._rescored(yardstick, yardstick.scoring, found, evidence)
        return JudgeErrored(f"{found.type}: {found.reason}") if isinstance(found, Unchecked) else found

    async def _rescored(
        self, yardstick: ByAssertions, scoring: ScoringCode, found: Aggregate, evidence: Evidence
    ) -> Aggregate | Unchecked:
        need = scoring_need(scoring, yardstick.assertions, found, threshold=yardstick.threshold, grades=evidence.grades)
        ran = await self.engine.snippets.fetch([need])
        return rescored(found, ran[need])

    async def _by_expectation(self, measure: Measure, yardstick: ByExpectation, work: Work) -> Decision:
        subject = work.subject()
        evidence = await self._evidence(expected_needs(yardstick.expected, work.observed.output, subject))
        found = meets(yardstick.expected, work.observed.output, subject, evidence=evidence)
        if isinstance(found, Unchecked):
            return JudgeErrored(f"{found.type}: {found.reason}")
        return self._implied(measure, found.score, found.reason, (found,), passed=found.passed)

    def _by_similarity(self, measure: Measure, work: Work) -> Decision:
        found = work.likeness
        assert found is not None, "the case expects a text"
        if found.semantic_score is None:
            return JudgeErrored(f"similarity: {found.unmeasured}")
        said = "equal" if found.exact_match else f"similarity {found.semantic_score:.3f}, {SIMILAR_ENOUGH:g} passes"
        reason = "; caution: ".join((said, *found.warnings))
        return self._implied(measure, found.semantic_score, reason, (), passed=found.passed)

    def _implied(
        self, measure: Measure, score: float, reason: str, results: Sequence[Checked], *, passed: bool
    ) -> Judged:
        criterion = implicit(measure)
        verdict = by_rule(
            criterion, min(1.0, max(0.0, score)) * criterion.fields.max_score, reason or "nothing was asked for"
        )
        return Judged(
            ((verdict, self.engine.clock()),),
            self.digest(measure),
            _metrics(results),
            passed=passed,
            wants_json=_wants_json(results),
            embedder=self.embedder(measure),
        )

    async def _by_rubric(self, key: UnitKey, measure: Measure, rubric: RubricInUse, work: Work) -> Decision:
        kinds = self.kinds(rubric)
        criteria = self._criteria(measure)
        said: dict[str, tuple[Said, datetime]] = {}
        results: list[Checked] = []
        for criterion in (one for one in criteria if kinds[one.id] == "heuristic"):
            wanted = guide_needs(criterion, work)
            evidence = await self._with_grades(key, wanted, work, await self._evidence(wanted))
            if isinstance(evidence, JudgeErrored):
                return evidence
            verdict, checks = judge_by_rule(criterion, work, evidence)
            if self.llm and evidence.grades and isinstance(verdict, Verdict):
                verdict = by_grader(verdict, [self.llm])
            said[criterion.id] = (verdict, self.engine.clock())
            results.extend(checks)
        others = [one for one in criteria if kinds[one.id] != "heuristic"]
        said.update(await self._kept(key, others, kinds, work))
        await self._ask_model(key, [one for one in others if kinds[one.id] == "llm" and one.id not in said], work, said)
        for answer, _ in said.values():
            if not isinstance(answer, Verdict):
                return answer
        if any(one.id not in said for one in criteria):
            asks = "human" if "human" in kinds.values() else "llm"
            return self._ask_outside(key, measure, self.asked_outside(rubric), work, asks)
        verdicts = tuple(_certain(said[one.id]) for one in criteria)
        return Judged(
            verdicts,
            self.digest(measure),
            _metrics(results),
            wants_json=_wants_json(results),
            embedder=self.embedder(measure),
        )

    def asked_outside(self, rubric: RubricInUse) -> tuple[Criterion, ...]:
        """The criteria that the caller or a person judges, in order."""
        return outside_criteria(rubric, self.choice, has_model=self.llm is not None)

    def about(self, criterion: Criterion, kind: JudgeKind, work: Work) -> jobs.VerdictKey:
        """What a verdict of that kind of judge on the output is kept under."""
        return jobs.VerdictKey(work.digest, criterion.digest, self.identity(kind))

    async def _kept(
        self, key: UnitKey, criteria: Sequence[Criterion], kinds: dict[str, JudgeKind], work: Work
    ) -> dict[str, tuple[Said, datetime]]:
        """The verdicts that are there already on the same output, criterion and judge: the unit's own, else the newest.

        With `--fresh` the unit's own only.
        """
        now = self.engine.clock()
        kept: dict[str, tuple[Said, datetime]] = {
            one.id: (self.given[key.run_id, one.id], now) for one in criteria if (key.run_id, one.id) in self.given
        }
        wanted = [(one.id, self.about(one, kinds[one.id], work)) for one in criteria if one.id not in kept]
        if not wanted:
            return kept
        found = await self.engine.store.read(
            lambda db: {
                ident: jobs.verdict(db, about, ident, only=key)
                or (None if self.fresh else jobs.verdict(db, about, ident))
                for ident, about in wanted
            }
        )
        return kept | {ident: answer for ident, answer in found.items() if answer is not None}

    async def _ask_model(
        self, key: UnitKey, criteria: Sequence[Criterion], work: Work, said: dict[str, tuple[Said, datetime]]
    ) -> None:
        """Asks the model for what is missing; each verdict is kept as it comes, before the run is complete."""
        if not criteria:
            return
        assert self.llm is not None
        if self.llm.together or len(criteria) == 1:
            await self._ask_and_keep(key, criteria, work, said)
            return
        async with anyio.create_task_group() as calls:
            for criterion in criteria:
                calls.start_soon(self._ask_unless_halted, key, criterion, work, said)
        if any(one.id not in said for one in criteria):
            raise HaltedError

    async def _ask_unless_halted(
        self, key: UnitKey, criterion: Criterion, work: Work, said: dict[str, tuple[Said, datetime]]
    ) -> None:
        """Leaves the criterion open at a cap, so that what is being paid for the others is kept."""
        with suppress(HaltedError):
            await self._ask_and_keep(key, (criterion,), work, said)

    async def _ask_and_keep(
        self, key: UnitKey, criteria: Sequence[Criterion], work: Work, said: dict[str, tuple[Said, datetime]]
    ) -> None:
        assert self.llm is not None
        for criterion, answer in zip(criteria, await self.llm.judge(criteria, work), strict=True):
            at = self.engine.clock()
            said[criterion.id] = (answer, at)
            if not isinstance(answer, JudgeErrored):
                await self.keep(key, self.about(criterion, "llm", work), answer, at)

    async def keep(self, key: UnitKey, about: jobs.VerdictKey, answer: Verdict | NotJudgeable, at: datetime) -> None:
        """Queues a verdict to be kept; the run's own record comes after it in the same queue."""
        await self.queue(partial(_save_verdict, key=key, about=about, answer=answer, at=at))

    async def queue(self, work: Callable[[Db], None]) -> None:
        """Queues a write that nobody waits for now; one that failed earlier is raised here, or by `settle`."""
        while self.pending and self.pending[0].done.is_set():
            await self.pending.popleft().result()
        self.pending.append(await self.engine.store.submit(work))

    async def settle(self) -> None:
        """Waits until every write queued so far is committed."""
        while self.pending:
            await self.pending.popleft().result()

    @staticmethod
    def _ask_outside(
        key: UnitKey, measure: Measure, criteria: Sequence[Criterion], work: Work, asks: JudgeType
    ) -> Awaiting:
        asked = packet(key, measure.case.id, criteria, work)
        return Awaiting(work.observed, packet_digest(key, criteria, work), asks, asked)


def _save_verdict(
    db: Db, *, key: UnitKey, about: jobs.VerdictKey, answer: Verdict | NotJudgeable, at: datetime
) -> None:
    jobs.save_verdict(db, key, about, answer, at=at)


def _certain(answer: tuple[Said, datetime]) -> tuple[Verdict, datetime]:
    said, at = answer
    assert isinstance(said, Verdict)
    return said, at


def _metrics(results: Sequence[Checked]) -> tuple[MetricScore, ...]:
    return tuple(MetricScore(one.name, min(1.0, max(0.0, one.score)), one.weight) for one in named_scores(results))


def _wants_json(results: Sequence[Checked]) -> bool:
    return any(one.type in WANTS_JSON and not one.passed for one in results)
