"""Choosing among a test's outputs: by the scores of their other assertions, or by a model that is asked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from minions_evals_mcp.domain.definitions import Json, RubricCriterion
from minions_evals_mcp.domain.digests import digest, text_digest
from minions_evals_mcp.domain.outcomes import JudgeErrored, NotJudgeable, UnitKey, Verdict
from minions_evals_mcp.engine.config_eval.evaluation import Chooser, SelectBest
from minions_evals_mcp.engine.config_eval.matrix import Cell, Selected
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judge.own_judges import OwnJudges
from minions_evals_mcp.judges.grading import NoPreference, chooser_digest, preferred
from minions_evals_mcp.judges.llm import LlmJudge
from minions_evals_mcp.judges.task import Criterion
from minions_evals_mcp.judges.templated import ModelChoice
from minions_evals_mcp.scoring.checks import Aggregate, Unchecked
from minions_evals_mcp.scoring.max_score import MAX_SCORE, SELECT_BEST, MaxScore, OutputScores, select
from minions_evals_mcp.scoring.prompt_texts.code_judges import TEMPLATES
from minions_evals_mcp.store import jobs


@dataclass(frozen=True, slots=True)
class Choosing:
    """The chooser: by score, or the judge that is named, whose choices are kept and not paid for again."""

    engine: Engine
    judge: LlmJudge | None
    own: OwnJudges

    async def chosen(
        self, chooser: Chooser, cells: Sequence[Cell], checked: Mapping[int, Aggregate], *, inputs: Json, unit: UnitKey
    ) -> Selected:
        """Returns what the chooser selects among the outputs that could be judged; raises `HaltedError` at a cap."""
        if isinstance(chooser, MaxScore):
            return by_score(chooser, cells, checked)
        there = [cell for cell in cells if cell.output is not None]
        if len(there) < 2:
            return Selected(type=SELECT_BEST, problem="requires at least two outputs to choose from")
        return await self._by_model(chooser, cells, inputs, unit)

    async def _by_model(self, chooser: SelectBest, cells: Sequence[Cell], inputs: Json, unit: UnitKey) -> Selected:
        grader = self.judge if chooser.grader is None else self.own.judge(chooser.grader)
        assert grader is not None, "vetted before anything ran"
        there = [cell for cell in cells if cell.output is not None]
        texts = [cell.output or "" for cell in there]
        criterion = _criterion(chooser, len(texts))
        template = chooser.rubric_prompt or (TEMPLATES[SELECT_BEST] if grader.is_code else "")
        judge = chooser_digest(grader, template)
        about = jobs.VerdictKey(digest([inputs, *texts]), criterion.digest, judge)
        stored_verdict = await self.engine.store.read(lambda db: jobs.verdict(db, about, criterion.id))
        if stored_verdict is None:
            choice = await preferred(
                grader, chooser.criterion, texts, inputs=inputs, template=template, quoted=chooser.quoted
            )
            if isinstance(choice, JudgeErrored):
                return Selected(type=SELECT_BEST, problem=choice.reason)
            verdict = _verdict(criterion, choice, grader.name)
            at = self.engine.clock()
            await self.engine.store.write(partial(jobs.save_verdict, unit=unit, about=about, answer=verdict, at=at))
        else:
            verdict = stored_verdict[0]
        if isinstance(verdict, NotJudgeable):
            return Selected(type=SELECT_BEST, problem=verdict.reason)
        winner = there[int(verdict.score)]
        reasons = tuple(verdict.rationale if cell is winner else "" for cell in cells)
        return Selected(type=SELECT_BEST, selected=winner.column, reasons=reasons)


def _verdict(criterion: Criterion, choice: ModelChoice | NoPreference, judged_by: str) -> Verdict | NotJudgeable:
    """Returns what is kept of the choice, and not paid for again."""
    if isinstance(choice, NoPreference):
        return NotJudgeable(criterion.id, f"no preference: {choice.reason}")
    return criterion.verdict(choice.chosen, choice.reason, judged_by=judged_by, judged_by_type="llm", confidence=None)


def _criterion(chooser: SelectBest, outputs: int) -> Criterion:
    """Returns what a choice is kept under: its score is the number of the output, from 0."""
    fields = RubricCriterion(
        rubric_id=SELECT_BEST, name=SELECT_BEST, description=chooser.criterion, max_score=float(outputs - 1)
    )
    return Criterion(f"{SELECT_BEST}:{text_digest(chooser.criterion)}", fields)


def by_score(config: MaxScore, cells: Sequence[Cell], checked: Mapping[int, Aggregate]) -> Selected:
    """Returns what `max-score` selects; an output that could not be judged takes no part."""
    there = [cell for cell in cells if cell.column in checked]
    unasked = [OutputScores((), passed=True, score=1.0) for cell in cells if cell.outcome == "awaiting-judgments"]
    selection = select([OutputScores.of(checked[cell.column]) for cell in there] or unasked, config)
    if isinstance(selection, Unchecked):
        return Selected(type=MAX_SCORE, problem=selection.reason)
    standings = dict(zip((cell.column for cell in there), selection.standings, strict=True))
    return Selected(
        type=MAX_SCORE,
        selected=None if selection.selected is None else there[selection.selected].column,
        scores=tuple(
            standings[cell.column].named_scores.max_score if cell.column in standings else None for cell in cells
        ),
        named_scores=tuple(standings[cell.column].named_scores if cell.column in standings else None for cell in cells),
        reasons=tuple(
            standings[cell.column].verdict.reason if cell.column in standings else _why_not(cell) for cell in cells
        ),
    )


def _why_not(cell: Cell) -> str:
    return "it could not be judged" if cell.asked else cell.reason
