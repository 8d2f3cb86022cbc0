"""Model grades that assertions rest on: reused where they are kept, else paid for and kept as they come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio

from minions_evals_mcp.domain.outcomes import JudgeErrored, UnitKey, Verdict
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.judge.door import Asked
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.engine.judge.panel import Panel
from minions_evals_mcp.engine.judge.unit_examination import UnitExamination
from minions_evals_mcp.engine.judge.unit_services import UnitServices
from minions_evals_mcp.frozen_types import frozen_type
from minions_evals_mcp.judges.grading import grade, grade_criterion, grade_of, grader_digest
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.checks import Evidence, GradeNeed, ServiceNeed, Unmet
from minions_evals_mcp.scoring.verdicts.examination import Examination
from minions_evals_mcp.store import jobs

Found = dict[GradeNeed, Verdict | JudgeErrored]


@frozen_type
class UnitGrades:
    """The models that grade for one run, which the panel knows; without its judge nobody is asked."""

    panel: Panel
    kept: KeptVerdicts

    async def graded(
        self, page: Sequence[tuple[Examination[Any], Sequence[Asked]]], evidence: Evidence
    ) -> list[Evidence]:
        """The evidence of each unit with its grades and the answers of services, or why one could not be had.

        Raises `HaltedError` where a cap forbids to ask.
        """
        return [
            await self._with_grades(examination, needs, await self._served(examination, needs, evidence))
            for examination, needs in page
        ]

    async def _served(self, unit: Examination[Any], needs: Sequence[Asked], evidence: Evidence) -> Evidence:
        wanted = [need for need in needs if isinstance(need, ServiceNeed)]
        if not wanted or self.panel.own is None:
            return evidence
        assert isinstance(unit, UnitExamination), "what else is examined in a run asks no service"
        services = UnitServices(self.panel.own.ask_services, self.kept)
        return replace(evidence, services=await services.answers(unit.key, wanted, unit.work))

    async def _with_grades(self, unit: Examination[Any], needs: Sequence[Asked], evidence: Evidence) -> Evidence:
        grades_of = [need for need in needs if isinstance(need, GradeNeed)]
        wanted = [need for need in grades_of if (self.panel.own if need.judge else self.panel.llm) is not None]
        if not wanted:
            return evidence
        assert isinstance(unit, UnitExamination), "what else is examined in a run asks no model"
        fetched = await self._fetched(unit.key, wanted, unit.work)
        grades = {need: grade_of(verdict) for need, verdict in fetched.items() if isinstance(verdict, Verdict)}
        errors = {need: verdict for need, verdict in fetched.items() if isinstance(verdict, JudgeErrored)}
        ungraded = {need: Unmet(error.reason, error.fatal, error.unanswered) for need, error in errors.items()}
        return replace(evidence, grades=grades, ungraded=ungraded)

    async def _fetched(self, key: UnitKey, wanted: Sequence[GradeNeed], work: Work) -> Found:
        fetched = await self._known_grades(key, wanted, work)
        async with anyio.create_task_group() as calls:
            for need in dict.fromkeys(wanted):
                if need not in fetched:
                    calls.start_soon(self._ask_unless_halted, key, need, work, fetched)
        if any(need not in fetched for need in wanted):
            raise HaltedError
        return fetched

    async def _known_grades(self, key: UnitKey, wanted: Sequence[GradeNeed], work: Work) -> Found:
        """The grades that are there already; with `--fresh` the unit's own only."""
        idents = {need: grade_criterion(need).id for need in wanted}
        kept = await self.kept.stored([(key, ident, self._about(need, work)) for need, ident in idents.items()])
        return {
            need: answer[0]
            for need, answer in zip(idents, kept, strict=True)
            if answer is not None and isinstance(answer[0], Verdict)
        }

    async def _ask_unless_halted(self, key: UnitKey, need: GradeNeed, work: Work, fetched: Found) -> None:
        """Leaves the grade open at a cap, so that what is being paid for the others is kept."""
        with suppress(HaltedError):
            verdict = await grade(self.panel.named_judge(need.judge), need, work)
            fetched[need] = verdict
            if isinstance(verdict, Verdict):
                await self.kept.keep(key, self._about(need, work), verdict, self.panel.engine.clock())

    def _about(self, need: GradeNeed, work: Work) -> jobs.VerdictKey:
        judge = grader_digest(self.panel.named_judge(need.judge), need.template, need.given, need.type)
        return jobs.VerdictKey(work.digest, grade_criterion(need).digest, judge)
