"""Grades for outputs of which nothing is kept: each batch is graded by one model, and paid for again the next time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from minions_evals_mcp.domain.outcomes import JudgeErrored, Observed
from minions_evals_mcp.engine.budget import Budget, HaltedError, Metered, vet_cap
from minions_evals_mcp.engine.context import EngineConfig, judge_mark
from minions_evals_mcp.engine.judge.door import Questions
from minions_evals_mcp.judges.grading import grade, grade_of
from minions_evals_mcp.judges.llm import LlmJudge
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.models.registry import Models, parse_model
from minions_evals_mcp.scoring.checks import Evidence, Grade, GradeNeed, Unmet

NO_JUDGE = Unmet("it needs a judge model: set a provider's key, or name the model in MINIONS_EVALS_JUDGE_MODEL")


@dataclass(slots=True, eq=False)
class RowGrades:
    """The judge of one command, if there is one, and what it may spend."""

    judge: LlmJudge | None
    budget: Budget
    dead: Unmet | None = field(default=None, init=False)
    """Why no other call can succeed either, once one has told so."""

    async def graded(self, page: Questions, evidence: Evidence) -> list[Evidence]:
        """The evidence of all rows with the grades that they need besides: what several ask is paid for once."""
        fetched = await self._grades(
            dict.fromkeys(need for _, needs in page for need in needs if isinstance(need, GradeNeed))
        )
        grades = {need: answer for need, answer in fetched.items() if isinstance(answer, Grade)}
        ungraded = {need: answer for need, answer in fetched.items() if isinstance(answer, Unmet)}
        return [replace(evidence, grades=grades, ungraded=ungraded)] * len(page)

    async def _grades(self, needs: Iterable[GradeNeed]) -> dict[GradeNeed, Grade | Unmet]:
        grades: dict[GradeNeed, Grade | Unmet] = {}
        async with anyio.create_task_group() as calls:
            for need in needs:
                assert not need.judge, "a row that names its own judge is refused when it is read"
                if self.judge is None:
                    grades[need] = NO_JUDGE
                else:
                    calls.start_soon(self._ask, self.judge, need, grades)
        return grades

    async def _ask(self, judge: LlmJudge, need: GradeNeed, grades: dict[GradeNeed, Grade | Unmet]) -> None:
        if self.dead is not None:
            grades[need] = self.dead
            return
        try:
            verdict = await grade(judge, need, Work({}, None, Observed(output={"output": need.text})))
        except HaltedError as halted:
            grades[need] = self.dead = Unmet(str(halted))
            return
        if isinstance(verdict, JudgeErrored):
            grades[need] = failed = Unmet(verdict.reason)
            self.dead = failed if verdict.fatal else self.dead
        else:
            grades[need] = grade_of(verdict)


def row_grades(config: EngineConfig, models: Models, *, max_cost_usd: float | None) -> RowGrades:
    """The grades of the configured judge model.

    Raises `BadInputError` where its key is missing, or a cap cannot be held because its price is unknown.
    """
    budget = Budget(max_cost_usd, None, stop=_go_on)
    if config.judge_model is None:
        return RowGrades(None, budget)
    ref = parse_model(config.judge_model)
    vet_cap(max_cost_usd, ref.provider, ref.model)
    models.client(ref)  # a missing key is refused before anything is asked
    client = Metered(ref.provider, partial(models.client, ref), budget)
    judge = LlmJudge(client, ref.model, judge_mark, config.call_timeout_s, asks_empty=config.judge_empty)
    return RowGrades(judge, budget)


def _go_on(_: str) -> None:
    """A cap ends no other row: each says for itself what it lacks."""
