"""Model grades that assertions of a run rest on: reused where they are kept, else paid for and kept as they come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio

from minions_evals_mcp.domain.outcomes import JudgeErrored, Verdict
from minions_evals_mcp.engine.budget import HaltedError
from minions_evals_mcp.engine.judge.door import Asked, Questions
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.engine.judge.unit_examination import UnitExamination
from minions_evals_mcp.engine.judge.unit_services import service_answers
from minions_evals_mcp.judges.grading import grade, grade_criterion, grade_of, grader_digest
from minions_evals_mcp.scoring.checks import Evidence, GradeNeed, ServiceNeed, Unmet
from minions_evals_mcp.scoring.verdicts.examination import Examination
from minions_evals_mcp.store import jobs

Found = dict[GradeNeed, Verdict | JudgeErrored]


async def unit_grades(verdicts: KeptVerdicts, page: Questions, evidence: Evidence) -> list[Evidence]:
    """The evidence of each unit with its grades and the answers of services, or why one could not be had.

    Without a judge on its panel nobody is asked. Raises `HaltedError` where a cap forbids to ask.
    """
    return [await _graded(verdicts, unit, needs, evidence) if needs else evidence for unit, needs in page]


async def _graded(
    verdicts: KeptVerdicts, unit: Examination[Any], needs: Sequence[Asked], evidence: Evidence
) -> Evidence:
    assert isinstance(unit, UnitExamination), "what else is examined in a run asks no model and no service"
    own = unit.panel.own
    if own is not None and (services := [need for need in needs if isinstance(need, ServiceNeed)]):
        answers = await service_answers(verdicts, own.ask_services, services, unit.key, unit.work)
        evidence = replace(evidence, services=answers)
    grades_of = [need for need in needs if isinstance(need, GradeNeed)]
    wanted = [need for need in grades_of if (own if need.judge else unit.panel.llm) is not None]
    return await _with_grades(verdicts, unit, wanted, evidence) if wanted else evidence


async def _with_grades(
    verdicts: KeptVerdicts, unit: UnitExamination, wanted: Sequence[GradeNeed], evidence: Evidence
) -> Evidence:
    fetched = await _fetched(verdicts, unit, wanted)
    grades = {need: grade_of(verdict) for need, verdict in fetched.items() if isinstance(verdict, Verdict)}
    errors = {need: verdict for need, verdict in fetched.items() if isinstance(verdict, JudgeErrored)}
    ungraded = {need: Unmet(error.reason, error.fatal, error.unanswered) for need, error in errors.items()}
    return replace(evidence, grades=grades, ungraded=ungraded)


async def _fetched(verdicts: KeptVerdicts, unit: UnitExamination, wanted: Sequence[GradeNeed]) -> Found:
    fetched = await _known_grades(verdicts, unit, wanted)
    async with anyio.create_task_group() as calls:
        for need in dict.fromkeys(wanted):
            if need not in fetched:
                calls.start_soon(_ask_unless_halted, verdicts, unit, need, fetched)
    if any(need not in fetched for need in wanted):
        raise HaltedError
    return fetched


async def _known_grades(verdicts: KeptVerdicts, unit: UnitExamination, wanted: Sequence[GradeNeed]) -> Found:
    """The grades that are there already; with `--fresh` the unit's own only."""
    idents = {need: grade_criterion(need).id for need in wanted}
    stored = await verdicts.stored([(unit.key, ident, _about(unit, need)) for need, ident in idents.items()])
    return {
        need: answer[0]
        for need, answer in zip(idents, stored, strict=True)
        if answer is not None and isinstance(answer[0], Verdict)
    }


async def _ask_unless_halted(verdicts: KeptVerdicts, unit: UnitExamination, need: GradeNeed, fetched: Found) -> None:
    """Leaves the grade open at a cap, so that what is being paid for the others is kept."""
    with suppress(HaltedError):
        began = anyio.current_time()
        verdict = await grade(unit.panel.named_judge(need.judge), need, unit.work)
        if isinstance(verdict, Verdict):
            verdict = verdict.with_trusted(duration_ms=round((anyio.current_time() - began) * 1000, 1))
        fetched[need] = verdict
        if isinstance(verdict, Verdict):
            await verdicts.keep(unit.key, _about(unit, need), verdict, verdicts.engine.clock())


def _about(unit: UnitExamination, need: GradeNeed) -> jobs.VerdictKey:
    judge = grader_digest(unit.panel.named_judge(need.judge), need.template, need.given, need.type)
    return jobs.VerdictKey(unit.work.digest, grade_criterion(need).digest, judge)
