"""What an output's assertions find, with all that they need of the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from minions_evals_mcp.domain.assertions import ScoringCode
from minions_evals_mcp.domain.outcomes import JudgeErrored, UnitKey
from minions_evals_mcp.engine.judge.evidence import fetched, with_opened
from minions_evals_mcp.engine.judge.kept_verdicts import KeptVerdicts
from minions_evals_mcp.engine.judge.model_grades import Grades
from minions_evals_mcp.engine.judge.panel import Panel
from minions_evals_mcp.engine.judge.yardstick import ByAssertions
from minions_evals_mcp.judges.task import Work
from minions_evals_mcp.scoring.assertions import check_all, needs
from minions_evals_mcp.scoring.assertions.scoring_code import rescored, scoring_need
from minions_evals_mcp.scoring.checks import Aggregate, Evidence, GradeNeed, Need, Unchecked


@dataclass(frozen=True, slots=True)
class RuleChecks:
    """Checks outputs by rule; models grade where a rule asks them to."""

    panel: Panel
    kept: KeptVerdicts

    async def evidence(self, wanted: Sequence[Need]) -> Evidence:
        """What those needs ask for, but for grades."""
        engine = self.panel.engine
        own = self.panel.own and self.panel.own.named_embedder
        return await fetched(
            wanted, regexes=engine.regexes, snippets=engine.snippets, embedder=engine.embedder, own_embedder=own
        )

    async def with_grades(
        self, key: UnitKey, wanted: Sequence[Need], work: Work, evidence: Evidence
    ) -> Evidence | JudgeErrored:
        """The evidence with the grades that are needed besides."""
        grades = [need for need in with_opened(wanted, evidence) if isinstance(need, GradeNeed)]
        asked = [need for need in grades if (self.panel.own if need.judge else self.panel.llm) is not None]
        if not asked:
            return evidence
        found = await Grades(self.panel.engine, self.panel.named_judge, self.kept.fresh, self.kept.keep).fetched(
            key, asked, work
        )
        return found if isinstance(found, JudgeErrored) else replace(evidence, grades=found)

    async def checked(self, key: UnitKey, yardstick: ByAssertions, work: Work) -> Aggregate | JudgeErrored:
        """The verdict of each assertion and of all together; grades that are kept are not asked for again."""
        subject = work.subject()
        wanted = needs(yardstick.assertions, subject)
        evidence = await self.with_grades(key, wanted, work, await self.evidence(wanted))
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
        ran = await self.panel.engine.snippets.fetch([need])
        return rescored(found, ran[need])
