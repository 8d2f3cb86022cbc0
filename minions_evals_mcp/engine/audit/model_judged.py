"""Cheats handed to the model that judges a case beside its rules: asked for, dry run first, and under a cap."""

from __future__ import annotations

from dataclasses import dataclass, field

from minions_evals_mcp.domain.outcomes import JudgeErrored, Observed, UnitKey, Verdict
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.audit.page import Audited
from minions_evals_mcp.engine.budget import Budget, HaltedError
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.default_judge import how_to_have_a_judge
from minions_evals_mcp.engine.judge.door import judge, judges_of
from minions_evals_mcp.engine.judge.panel import Panel
from minions_evals_mcp.engine.judge.row_grades import RowGrades
from minions_evals_mcp.engine.judge.unit_examination import Ruled, UnitExamination
from minions_evals_mcp.engine.judge.yardstick import Measure
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run import planning
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.judges.llm import MAX_TOKENS
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.models.prices import estimate_usd
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.scoring.audit.cheats import CHEAT_KINDS, Cheat
from minions_evals_mcp.scoring.rubric import RubricInUse, totals

ASKED_KINDS = ("empty", "fixed", "refusal", "echo", "injection", "other-case")
PROMPT_CHARACTERS = 3_000


class JudgeAsked(Value):
    """That a model is asked, too; `dry_run`: only how often, and what it costs at most."""

    max_cost_usd: float | None = None
    dry_run: bool = False


@dataclass(slots=True, eq=False)
class ModelAudit:
    """The model that judges in one audit, and what that came to: calls, cost, and why it stopped."""

    engine: Engine
    panel: Panel
    budget: Budget
    dry_run: bool
    calls: int = 0
    bound_usd: float | None = 0.0
    errors: int = 0
    problem: str = ""
    """Of how many cases the model could not say what passes, and why: of the first."""
    stopped: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        """The model's name."""
        assert self.panel.llm is not None, "a model was named"
        return self.panel.llm.name

    def in_words(self) -> str:
        """Returns what is asked, and what that costs at most."""
        cost = "price unknown" if self.bound_usd is None else f"at most ${self.bound_usd:.4f}"
        return f"{self.name} would be asked {self.calls} times: {cost}"

    async def also(self, audited: Audited) -> Audited:
        """The audit of a case with the cheats that its model lets pass besides; a case of rules alone stays as it is."""
        if audited.plan is None or not self.panel.asks_model(audited.measure) or audited.measure.case.fields.canary:
            return audited
        tried = [cheat for kind in ASKED_KINDS for cheat in audited.plan.cheats if cheat.kind == kind][
            : 2 * len(ASKED_KINDS)
        ]
        distinct = list({cheat.kind: cheat for cheat in reversed(tried)}.values())
        verdicts = {cheat.kind: await self._cheat_verdict(audited.measure, cheat) for cheat in distinct}
        if self.dry_run:
            return audited
        return self._with(audited, verdicts)

    def _with(self, audited: Audited, verdicts: dict[str, bool | str]) -> Audited:
        """The audit with what the model said of each kind of cheat; where it failed, rules alone tell, and that is told."""
        problem = next((verdict for verdict in verdicts.values() if isinstance(verdict, str)), "")
        by_rule = audited.audit.cheats_passed
        passed = {
            kind
            for kind, verdict in verdicts.items()
            if verdict is True or (isinstance(verdict, str) and kind in by_rule)
        }
        changed: dict[str, object] = {"cheats_passed": tuple(kind for kind in CHEAT_KINDS if kind in passed)}
        if problem:
            self.errors += 1
            self.problem = self.problem or problem
            changed["not_audited"] = f"could not be audited with the judge: {problem}"
        return Audited(audited.measure, audited.audit.model_copy(update=changed), audited.holes, audited.plan)

    async def _cheat_verdict(self, measure: Measure, cheat: Cheat) -> bool | str:
        """Returns whether the cheat passes; why that cannot be told where the model fails or may not be asked any more."""
        case = measure.case.fields
        work = Work(case.inputs, case.expected_outputs, Observed(output=cheat.output), case_id=measure.case.id)
        self._count(measure, work)
        if self.dry_run:
            return False
        if self.stopped:
            return self.stopped[0]
        try:
            verdict = await self._verdict(measure, work)
        except HaltedError as halted:
            self.stopped.append(str(halted) or "the cap is reached")
            return self.stopped[0]
        if not isinstance(verdict, JudgeErrored):
            return verdict
        if verdict.fatal:
            self.stopped.append(verdict.reason)
        return verdict.reason

    def _count(self, measure: Measure, work: Work) -> None:
        calls = sum(kind == "llm" for _, kind in self.panel.parts(measure)) + len(self.panel.asks(measure))
        self.calls += calls
        judge_model = self.panel.llm
        assert judge_model is not None, "a model was named"
        size = len(work.text) + PROMPT_CHARACTERS
        each = estimate_usd(judge_model.client.provider, judge_model.model, size, MAX_TOKENS)
        self.bound_usd = None if each is None or self.bound_usd is None else self.bound_usd + each * calls

    async def _verdict(self, measure: Measure, work: Work) -> bool | JudgeErrored:
        graders = RowGrades(self.panel.llm, self.budget)
        unit = UnitExamination(self.panel, UnitKey("audit", 0, 1), measure, work)
        (ruled,) = await judge([unit], judges_of(self.engine, graders=graders.graded))
        if isinstance(ruled, JudgeErrored):
            return ruled
        if not isinstance(ruled, Ruled):
            return False
        if not isinstance(measure.yardstick, RubricInUse):
            return ruled.whole is not None and ruled.whole.passed
        parts = self.panel.parts(measure)
        criteria = [criterion for criterion, kind in parts if kind == "llm"]
        assert self.panel.llm is not None, "a model was named"
        model_verdicts = await self.panel.llm.judge(criteria, work) if criteria else []
        failed = next((verdict for verdict in model_verdicts if isinstance(verdict, JudgeErrored)), None)
        if failed is not None:
            return failed
        verdicts = [*ruled.verdicts.values(), *(verdict for verdict in model_verdicts if isinstance(verdict, Verdict))]
        return len(verdicts) == len(parts) and totals(measure.yardstick, verdicts).passed


def model_audit(engine: Engine, wanted: JudgeAsked) -> ModelAudit:
    """The configured judge model for an audit; raises `UnsupportedError` where there is none."""
    model = engine.judge_model()
    if model is None:
        raise UnsupportedError(
            f"{argument('with_judge')} needs a model.",
            remedy=f"{how_to_have_a_judge(engine.config.providers)}.",
        )
    stopped: list[str] = []
    budget = Budget(wanted.max_cost_usd, None, stopped.append)
    request = RunRequest(subject_id="audit", max_cost_usd=wanted.max_cost_usd)
    panel = planning.judge_for(engine, request, budget, model=model).panel
    return ModelAudit(engine, panel, budget, wanted.dry_run, stopped=stopped)
