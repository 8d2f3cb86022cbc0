"""What the judges of a run say of an output: rules first, then kept verdicts, then paid ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import anyio

from minions_evals_mcp.domain.definitions import JudgeType
from minions_evals_mcp.domain.outcomes import Awaiting, JudgeErrored, MetricScore, NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.judge.compose import WANTS_JSON, Judged
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.engine.judge.model_grades import all_by_grader, by_grader
from minions_evals_mcp.engine.judge.panel import Panel, implicit
from minions_evals_mcp.engine.judge.rule_checks import RuleChecks
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, ByExpectation, ByNothing, BySimilarity, Measure
from minions_evals_mcp.judges.heuristic import by_rule, explained, guide_needs, judge_by_rule
from minions_evals_mcp.judges.packets import packet, packet_digest
from minions_evals_mcp.judges.task import Criterion, Said, Work
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Named, Unchecked
from minions_evals_mcp.scoring.expected import expected_needs, meets
from minions_evals_mcp.scoring.history import SIMILAR_ENOUGH
from minions_evals_mcp.scoring.metrics import named_in, named_scores
from minions_evals_mcp.scoring.rubric import RubricInUse

Decision = Judged | JudgeErrored | NotJudgeable | Awaiting


@dataclass(frozen=True, slots=True)
class Judging:
    """Judges the outputs of one run."""

    panel: Panel
    kept: KeptVerdicts

    @property
    def checks(self) -> RuleChecks:
        """What checks outputs by rule."""
        return RuleChecks(self.panel, self.kept)

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
        at = self.panel.engine.clock()
        verdicts = tuple(
            (by_rule(criterion, criterion.fields.min_score, f"no output: {why}"), at)
            for criterion in self.panel.criteria(measure)
        )
        return Judged(verdicts, self.panel.digest(measure), passed=False, embedder=self.panel.embedder(measure))

    async def _by_assertions(self, key: UnitKey, measure: Measure, yardstick: ByAssertions, work: Work) -> Decision:
        found = await self.checks.checked(key, yardstick, work)
        if isinstance(found, JudgeErrored):
            return found
        reason = "; ".join(filter(None, (found.reason, explained(found.results))))
        judged = self._implied(measure, found, reason)
        judges = [self.panel.judge(asks.judge) for asks in self.panel.asks(measure) if self.panel.has(asks)]
        return all_by_grader(judged, judges) if judges else judged

    async def _by_expectation(self, measure: Measure, yardstick: ByExpectation, work: Work) -> Decision:
        subject = work.subject()
        evidence = await self.checks.evidence(expected_needs(yardstick.expected, work.observed.output, subject))
        found = meets(yardstick.expected, work.observed.output, subject, evidence=evidence)
        if isinstance(found, Unchecked):
            return JudgeErrored(f"{found.type}: {found.reason}")
        return self._implied(measure, Aggregate(found.passed, found.score, (found,)), found.reason)

    def _by_similarity(self, measure: Measure, work: Work) -> Decision:
        found = work.likeness
        assert found is not None, "the case expects a text"
        if found.semantic_score is None:
            return JudgeErrored(f"similarity: {found.unmeasured}")
        said = "equal" if found.exact_match else f"similarity {found.semantic_score:.3f}, {SIMILAR_ENOUGH:g} passes"
        reason = "; caution: ".join((said, *found.warnings))
        return self._implied(measure, Aggregate(found.passed, found.semantic_score, ()), reason)

    def _implied(self, measure: Measure, found: Aggregate, reason: str) -> Judged:
        """The verdict on a case without a rubric."""
        criterion = implicit(measure)
        score = min(1.0, max(0.0, found.score)) * criterion.fields.max_score
        verdict = by_rule(criterion, score, reason or "nothing was asked for")
        return Judged(
            ((verdict, self.panel.engine.clock()),),
            self.panel.digest(measure),
            _metrics(named_in(found)),
            passed=found.passed,
            wants_json=_wants_json(found.results),
            embedder=self.panel.embedder(measure),
        )

    async def _by_rubric(self, key: UnitKey, measure: Measure, rubric: RubricInUse, work: Work) -> Decision:
        kinds = self.panel.kinds(rubric)
        criteria = self.panel.criteria(measure)
        said: dict[str, tuple[Said, datetime]] = {}
        results: list[Checked] = []
        for criterion in (one for one in criteria if kinds[one.id] == "heuristic"):
            wanted = guide_needs(criterion, work)
            evidence = await self.checks.with_grades(key, wanted, work, await self.checks.evidence(wanted))
            if isinstance(evidence, JudgeErrored):
                return evidence
            verdict, checks = judge_by_rule(criterion, work, evidence)
            if self.panel.llm and evidence.grades and isinstance(verdict, Verdict):
                verdict = by_grader(verdict, [self.panel.llm])
            said[criterion.id] = (verdict, self.panel.engine.clock())
            results.extend(checks)
        others = [one for one in criteria if kinds[one.id] != "heuristic"]
        said.update(await self.kept.of(key, [(one.id, self.panel.about(one, kinds[one.id], work)) for one in others]))
        await self._ask_model(key, [one for one in others if kinds[one.id] == "llm" and one.id not in said], work, said)
        for answer, _ in said.values():
            if not isinstance(answer, Verdict):
                return answer
        if any(one.id not in said for one in criteria):
            asks = "human" if "human" in kinds.values() else "llm"
            return self._ask_outside(key, measure, self.panel.asked_outside(rubric), work, asks)
        verdicts = tuple(_certain(said[one.id]) for one in criteria)
        return Judged(
            verdicts,
            self.panel.digest(measure),
            _metrics(named_scores(results)),
            wants_json=_wants_json(results),
            embedder=self.panel.embedder(measure),
        )

    async def _ask_model(
        self, key: UnitKey, criteria: Sequence[Criterion], work: Work, said: dict[str, tuple[Said, datetime]]
    ) -> None:
        """Asks the model for what is missing; each verdict is kept as it comes, before the run is complete."""
        if not criteria:
            return
        assert self.panel.llm is not None
        if self.panel.llm.together or len(criteria) == 1:
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
        assert self.panel.llm is not None
        for criterion, answer in zip(criteria, await self.panel.llm.judge(criteria, work), strict=True):
            at = self.panel.engine.clock()
            said[criterion.id] = (answer, at)
            if not isinstance(answer, JudgeErrored):
                await self.kept.keep(key, self.panel.about(criterion, "llm", work), answer, at)

    @staticmethod
    def _ask_outside(
        key: UnitKey, measure: Measure, criteria: Sequence[Criterion], work: Work, asks: JudgeType
    ) -> Awaiting:
        asked = packet(key, measure.case.id, criteria, work)
        return Awaiting(work.observed, packet_digest(key, criteria, work), asks, asked)


def _certain(answer: tuple[Said, datetime]) -> tuple[Verdict, datetime]:
    said, at = answer
    assert isinstance(said, Verdict)
    return said, at


def _metrics(named: Iterable[Named]) -> tuple[MetricScore, ...]:
    return tuple(MetricScore(one.name, min(1.0, max(0.0, one.score)), one.weight) for one in named)


def _wants_json(results: Sequence[Checked]) -> bool:
    return any(one.type in WANTS_JSON and not one.passed for one in results)
