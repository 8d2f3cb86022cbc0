"""The verdicts of a run's judges on a page of outputs: rules first, then kept verdicts, then paid ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

import anyio

from minions_evals_mcp.domain.definitions import JudgeType
from minions_evals_mcp.domain.metric_scores import MetricScore
from minions_evals_mcp.domain.outcomes import Awaiting, JudgeErrored, NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.judge.compose import WANTS_JSON, OutputVerdicts
from minions_evals_mcp.engine.judge.door import Judges, Questions, judge
from minions_evals_mcp.engine.judge.kept_verdicts import Given, KeptVerdicts
from minions_evals_mcp.engine.judge.panel import Panel, implicit
from minions_evals_mcp.engine.judge.unit_examination import Rescoring, Ruled, UnitExamination, Unruled
from minions_evals_mcp.engine.judge.yardstick import ByAssertions, ByNothing, Measure
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.heuristic import by_grader, by_rule
from minions_evals_mcp.judges.packets import packet
from minions_evals_mcp.judges.task import Criterion, Said, Work
from minions_evals_mcp.scoring.assertions.kinds.own import own_names
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Evidence
from minions_evals_mcp.scoring.metrics import named_in, named_scores
from minions_evals_mcp.scoring.rubric import RubricInUse

Decision = OutputVerdicts | JudgeErrored | NotJudgeable | Awaiting


@frozen_type
class Judging:
    """Judges the outputs of one run."""

    panel: Panel
    kept: KeptVerdicts

    async def judge(self, page: Sequence[tuple[UnitKey, Measure, Work]]) -> list[Decision]:
        """Returns what all judges of their cases say of those outputs, in order. Raises `HaltedError` where a cap forbids to ask."""
        own = self.panel.engine.own_checks
        units = [await self._examination(*unit) if own else UnitExamination(self.panel, *unit) for unit in page]
        ruled = await self._ruled(units)
        given = await self._given_verdicts(units, ruled)
        at = self.panel.engine.clock()
        return [await self._decision(*unit, at=at) for unit in zip(units, ruled, given, strict=True)]

    async def checked(self, key: UnitKey, measure: Measure, work: Work) -> Aggregate | Unruled:
        """The verdict of each assertion of the case and of all together; grades that are kept are not asked for again."""
        (ruled,) = await self._ruled([await self._examination(key, measure, work)])
        if not isinstance(ruled, Ruled):
            return ruled
        assert ruled.whole is not None, "the case has assertions"
        return ruled.whole

    async def _examination(self, key: UnitKey, measure: Measure, work: Work) -> UnitExamination:
        """The examination of an output, with what the user's functions say of it."""
        known = self.panel.engine.own_checks
        if not known or not isinstance(measure.yardstick, ByAssertions):
            return UnitExamination(self.panel, key, measure, work)
        names = [name for name in own_names(measure.yardstick.assertions) if name in known]
        return UnitExamination(self.panel, key, measure, work, {name: await known[name](work) for name in names})

    async def _ruled(self, units: Sequence[UnitExamination]) -> list[Ruled | Unruled]:
        engine = self.panel.engine
        own = self.panel.own
        judges = Judges(
            engine.regexes,
            engine.snippets,
            engine.embedder,
            own and own.named_embedder,
            self._grades,
        )
        ruled = await judge(units, judges)
        coded = {
            number: Rescoring(result.whole, result.scoring)
            for number, result in enumerate(ruled)
            if isinstance(result, Ruled) and result.whole is not None and result.scoring is not None
        }
        for number, result in zip(coded, await judge([*coded.values()], judges), strict=True):
            earlier = ruled[number]
            assert isinstance(earlier, Ruled)
            ruled[number] = replace(result, checks=earlier.checks) if isinstance(result, Ruled) else result
        return ruled

    async def _grades(self, page: Questions, evidence: Evidence) -> list[Evidence]:
        if not any(needs for _, needs in page):
            return [evidence] * len(page)
        from minions_evals_mcp.engine.judge.model_grades import unit_grades  # noqa: PLC0415  rules alone ask no model

        return await unit_grades(self.kept, page, evidence)

    async def _given_verdicts(self, units: Sequence[UnitExamination], ruled: Sequence[Ruled | Unruled]) -> list[Given]:
        """Returns what is kept of what those judge who are no rules, for each unit."""
        wanted = [
            (unit.key, criterion.id, self.panel.about(criterion, kind, unit.work))
            for unit, rules in zip(units, ruled, strict=True)
            if isinstance(rules, Ruled) and not unit.is_lost
            for criterion, kind in self.panel.parts(unit.measure)
            if kind != "heuristic"
        ]
        verdicts = await self.kept.of(wanted)
        return [verdicts.get(unit.key, {}) for unit in units]

    async def _decision(self, unit: UnitExamination, ruled: Ruled | Unruled, given: Given, *, at: datetime) -> Decision:
        """The verdict on one output; `at` is when rules gave theirs."""
        if not isinstance(ruled, Ruled):
            return ruled
        if unit.is_lost:
            return self._lost(unit, at)
        if isinstance(unit.measure.yardstick, RubricInUse):
            return await self._by_rubric(unit, unit.measure.yardstick, ruled, given, at=at)
        if isinstance(unit.measure.yardstick, ByNothing):
            return _ask_outside(unit, (implicit(unit.measure),), "human")
        assert ruled.whole is not None, "the case has something to judge by"
        return self._implied(unit.measure, ruled.whole, ruled, at=at)

    def _lost(self, unit: UnitExamination, at: datetime) -> OutputVerdicts:
        """A run that produced nothing to look at: `minScore` on every criterion."""
        seen, measure = unit.work.observed, unit.measure
        limit = measure.case.fields.timeout_ms
        why = (
            f"the time limit of {limit} ms was exceeded" if seen.timed_out else f"the agent failed: {seen.agent_error}"
        )
        verdicts = tuple(
            (by_rule(criterion, criterion.fields.min_score, f"no output: {why}"), at)
            for criterion in self.panel.criteria(measure)
        )
        return OutputVerdicts(verdicts, self.panel.digest(measure), passed=False, embedder=self.panel.embedder(measure))

    def _implied(self, measure: Measure, whole: Aggregate, ruled: Ruled, *, at: datetime) -> OutputVerdicts:
        """The verdict on a case without a rubric; the models that graded for its rules are who judged."""
        criterion = implicit(measure)
        score = min(1.0, max(0.0, whole.score)) * criterion.fields.max_score
        verdict = by_rule(criterion, score, ruled.reason or "nothing was requested")
        graders = [self.panel.judge(asks.judge) for asks in self.panel.asks(measure) if self.panel.has(asks)]
        return OutputVerdicts(
            ((by_grader(verdict, [one.name for one in graders]) if graders else verdict, at),),
            self.panel.digest(measure),
            _metrics(named_in(whole)),
            passed=whole.passed,
            checks=ruled.checks,
            wants_json=_wants_json(ruled.results),
            embedder=self.panel.embedder(measure),
        )

    async def _by_rubric(
        self, unit: UnitExamination, rubric: RubricInUse, ruled: Ruled, given: Given, *, at: datetime
    ) -> Decision:
        parts = self.panel.parts(unit.measure)
        if len(ruled.verdicts) == len(parts):  # rules judge them all
            return self._judged(unit.measure, ruled, tuple((verdict, at) for verdict in ruled.verdicts.values()))
        given = {**{ident: (verdict, at) for ident, verdict in ruled.verdicts.items()}, **given}
        if missing := [criterion for criterion, kind in parts if kind == "llm" and criterion.id not in given]:
            await self._ask_model(unit.key, missing, unit.work, given)
        for answer, _ in given.values():
            if not isinstance(answer, Verdict):
                return answer
        if any(criterion.id not in given for criterion, _ in parts):
            from minions_evals_mcp.engine.judge.rounds import open_round, rounds  # noqa: PLC0415  only where somebody is asked

            asked = open_round(rounds(rubric, self.panel.choice, has_model=self.panel.llm is not None), given)
            return _ask_outside(unit, asked.criteria, "human" if asked.of_person else "llm")
        return self._judged(unit.measure, ruled, tuple(_certain(given[criterion.id]) for criterion, _ in parts))

    def _judged(self, measure: Measure, ruled: Ruled, verdicts: tuple[tuple[Verdict, datetime], ...]) -> OutputVerdicts:
        return OutputVerdicts(
            verdicts,
            self.panel.digest(measure),
            _metrics(named_scores(ruled.results)),
            wants_json=_wants_json(ruled.results),
            embedder=self.panel.embedder(measure),
        )

    async def _ask_model(self, key: UnitKey, criteria: Sequence[Criterion], work: Work, given: Given) -> None:
        """Asks the model for what is missing; each verdict is kept as it comes, before the run is complete."""
        assert self.panel.llm is not None
        if self.panel.llm.together or len(criteria) == 1:
            await self._ask_and_keep(key, criteria, work, given)
            return
        async with anyio.create_task_group() as calls:
            for criterion in criteria:
                calls.start_soon(self._ask_unless_halted, key, criterion, work, given)
        if any(criterion.id not in given for criterion in criteria):
            raise HaltedError

    async def _ask_unless_halted(self, key: UnitKey, criterion: Criterion, work: Work, given: Given) -> None:
        """Leaves the criterion open at a cap, so that what is being paid for the others is kept."""
        with suppress(HaltedError):
            await self._ask_and_keep(key, (criterion,), work, given)

    async def _ask_and_keep(self, key: UnitKey, criteria: Sequence[Criterion], work: Work, given: Given) -> None:
        assert self.panel.llm is not None
        for criterion, answer in zip(criteria, await self.panel.llm.judge(criteria, work), strict=True):
            at = self.panel.engine.clock()
            given[criterion.id] = (answer, at)
            if not isinstance(answer, JudgeErrored):
                await self.kept.keep(key, self.panel.about(criterion, "llm", work), answer, at)


def _ask_outside(unit: UnitExamination, criteria: Sequence[Criterion], asks: JudgeType) -> Awaiting:
    waiting_packet = packet(unit.key, unit.measure.case.id, criteria, unit.work)
    return Awaiting(unit.work.observed, waiting_packet.digest, asks, waiting_packet.model_dump(mode="json"))


def _certain(answer: tuple[Said, datetime]) -> tuple[Verdict, datetime]:
    verdict, at = answer
    assert isinstance(verdict, Verdict)
    return verdict, at


def _metrics(named: Iterable[MetricScore]) -> tuple[MetricScore, ...]:
    return tuple(MetricScore(metric.name, min(1.0, max(0.0, metric.score)), metric.weight) for metric in named)


def _wants_json(results: Sequence[Checked]) -> bool:
    return any(result.type in WANTS_JSON and not result.passed for result in results)
