"""Model grades that assertions rest on: reused where they are kept, else paid for and kept as they come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import anyio

from minions_evals_mcp.domain.definitions import RubricCriterion
from minions_evals_mcp.domain.outcomes import JudgeErrored, UnitKey, Verdict
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.compose import AND, Judged
from minions_evals_mcp.judges.grading import grade, grade_criterion, grade_of, grader_digest
from minions_evals_mcp.judges.heuristic import guide
from minions_evals_mcp.judges.llm import UNCALIBRATED, LlmJudge
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.assertions.graded import Asks, grades_asked
from minions_evals_mcp.scoring.checks import Grade, GradeNeed
from minions_evals_mcp.store import jobs

Found = dict[GradeNeed, Verdict | JudgeErrored]


@dataclass(frozen=True, slots=True)
class Grades:
    """The models that grade for one run, by the name that a need has for its own; `keep` queues a grade to be kept."""

    engine: Engine
    judge: Callable[[str], LlmJudge]
    fresh: bool
    keep: Callable[[UnitKey, jobs.VerdictKey, Verdict, datetime], Awaitable[None]]

    async def fetched(
        self, key: UnitKey, wanted: Sequence[GradeNeed], work: Work
    ) -> dict[GradeNeed, Grade] | JudgeErrored:
        """The grades, or why one of them could not be had; raises `HaltedError` where a cap forbids to ask."""
        found = await self._kept(key, wanted, work)
        async with anyio.create_task_group() as calls:
            for need in dict.fromkeys(wanted):
                if need not in found:
                    calls.start_soon(self._ask_unless_halted, key, need, work, found)
        if any(need not in found for need in wanted):
            raise HaltedError
        failed = next((said for said in found.values() if isinstance(said, JudgeErrored)), None)
        if failed is not None:
            return failed
        return {need: grade_of(said) for need, said in found.items() if isinstance(said, Verdict)}

    async def _kept(self, key: UnitKey, wanted: Sequence[GradeNeed], work: Work) -> Found:
        """The grades that are there already; with `--fresh` the unit's own only."""
        abouts = [(need, grade_criterion(need).id, self._about(need, work)) for need in wanted]
        kept = await self.engine.store.read(
            lambda db: [
                jobs.verdict(db, about, ident, only=key) or (None if self.fresh else jobs.verdict(db, about, ident))
                for _, ident, about in abouts
            ]
        )
        return {
            need: one[0]
            for (need, _, _), one in zip(abouts, kept, strict=True)
            if one is not None and isinstance(one[0], Verdict)
        }

    async def _ask_unless_halted(self, key: UnitKey, need: GradeNeed, work: Work, found: Found) -> None:
        """Leaves the grade open at a cap, so that what is being paid for the others is kept."""
        with suppress(HaltedError):
            said = await grade(self.judge(need.judge), need, work)
            found[need] = said
            if isinstance(said, Verdict):
                await self.keep(key, self._about(need, work), said, self.engine.clock())

    def _about(self, need: GradeNeed, work: Work) -> jobs.VerdictKey:
        judge = grader_digest(self.judge(need.judge), need.template, need.given)
        return jobs.VerdictKey(work.digest, grade_criterion(need).digest, judge)


def guide_grades(criterion: RubricCriterion) -> list[Asks]:
    """Whom judging by this criterion's guide asks for grades."""
    rules = guide(criterion.scoring_guide)
    return [] if isinstance(rules, str) else [*grades_asked(rules)]


def by_grader(verdict: Verdict, judges: Sequence[LlmJudge]) -> Verdict:
    """A verdict by rules that rest on models' grades: the models are who judged, and as sure as a model may be."""
    names = dict.fromkeys(judge.name for judge in judges)
    said = {"judged_by": AND.join(names), "judged_by_type": "llm", "confidence": min(verdict.confidence, UNCALIBRATED)}
    return verdict.model_copy(update=said)


def all_by_grader(judged: Judged, judges: Sequence[LlmJudge]) -> Judged:
    """The same for all verdicts on an output."""
    return replace(judged, verdicts=tuple((by_grader(verdict, judges), at) for verdict, at in judged.verdicts))
