"""Finds which components of a plugin help or harm: the plugin is run without some of them, and compared with the whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from minions_evals_mcp.domain.digests import text_digest
from minions_evals_mcp.domain.values import first_named
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary
from minions_evals_mcp.engine.conclude.comparison import MARGIN, pairing
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.lift.arms import save_arms
from minions_evals_mcp.engine.lift.components import Ablation, Group, halves, named
from minions_evals_mcp.engine.lift.result import VERDICTS, ComponentLift, LiftVerdict
from minions_evals_mcp.engine.request import RunRequest, RunSettings
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import get_benchmark, run_benchmark
from minions_evals_mcp.errors import BadInputError, StoppedError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.stats.comparison import holm
from minions_evals_mcp.stats.lift import Lift, lift
from minions_evals_mcp.stats.paired import SIGNIFICANT

NAMED = 5


async def affordable_arms(engine: Engine, ablation: Ablation, benchmark_id: str, trials: int) -> int:
    """How many arms the budget pays for; raises `BadInputError` where it tells no two components apart."""
    cases = len((await get_benchmark(engine, benchmark_id)).fields.test_case_ids)
    outputs, number = cases * trials, len(ablation.components)
    arms = ablation.most_outputs // outputs
    if number > 1 and arms < 2:
        raise BadInputError(
            f"{argument('components')}: {ablation.most_outputs} outputs tell no two components apart: an arm of {cases} cases,"
            f" {trials} times each, makes {outputs} outputs.",
            remedy=f"Give {2 * outputs} to try each half of the {number} components, {number * outputs} to try each component.",
        )
    return arms


@dataclass(slots=True)
class Ablating:
    """An ablation that is carried out: what was tried so far, each group with its run and its lift.

    `whole` compared the plugin's manifest alone with the whole plugin. `waits` is set where outputs wait to be judged,
    `stopped` where a cap ended it.
    """

    engine: Engine
    ablation: Ablation
    settings: RunSettings
    whole: ComparisonSummary
    progress: Progress
    tried: dict[Group, tuple[str, Lift]] = field(default_factory=dict[Group, tuple[str, Lift]])
    waits: bool = False
    stopped: str = ""

    async def run(self, arms: int) -> tuple[ComponentLift, ...] | None:
        """The lift of each component over the plugin without it; None while outputs wait to be judged.

        Each component is left out alone where that many arms are enough. Else halves are, and of the half that differs most
        its halves, and so on. P-values are adjusted for all arms that were planned (Holm), whether or not they were run.
        """
        components = self.ablation.components
        if len(components) == 1:
            return (self._told(components, self.whole.run_a, await self._lift(self.whole.run_a)),)
        planned = len(components) if arms >= len(components) else min(arms // 2 * 2, len(self.ablation.arms))
        if planned == len(components):
            for component in components:
                await self._try((component,))
        else:
            await self._halve(components, planned)
        if self.waits:
            return None
        missing = planned - len(self.tried)
        adjusted = holm([*(found.p_value for _, found in self.tried.values()), *[1.0] * missing])
        return tuple(
            self._told(group, run_id, found, adjusted[number])
            for number, (group, (run_id, found)) in enumerate(self.tried.items())
            if not any(half in self.tried for half in halves(group))
        )

    def notes(self) -> list[str]:
        """The components that were not tried, and why."""
        components = self.ablation.components
        if not self.stopped or len(components) == 1:
            return []
        held = {component for group in self.tried for component in group}
        left = [str(component) for component in components if component not in held]
        missing = (
            f"not tried separately: {first_named(left, NAMED)}" if left else "not every component was tried separately"
        )
        return [f"{missing}. {self.stopped}"]

    async def _halve(self, components: Group, planned: int) -> None:
        open_groups, sizes = [components], {components: 1.0}
        while open_groups and len(self.tried) + 2 <= planned and not (self.waits or self.stopped):
            group = max(open_groups, key=sizes.__getitem__)
            open_groups.remove(group)
            for half in halves(group):
                await self._try(half)
                if len(half) > 1 and half in self.tried:
                    sizes[half] = abs(self.tried[half][1].difference.delta)
                    open_groups.append(half)

    async def _try(self, group: Group) -> None:
        if self.stopped:
            return
        arm = self.ablation.arms[group]
        await save_arms(self.engine, [arm])
        cap = await self._left()
        if cap is not None and cap <= 0:
            self.stopped = "The cap on dollars was spent."
            return
        request = RunRequest.asked_by(
            self.settings,
            subject_id=self.whole.benchmark_id,
            prompt_version_ref=arm.version,
            key=f"{self.whole.comparison_id}:without:{text_digest(named(group))}",
            max_cost_usd=cap,
        )
        try:
            job = await run_benchmark(self.engine, request, progress=self.progress)
        except StoppedError as error:
            self.stopped = error.message_text
            return
        if job.state == "awaiting-judgments":
            self.waits = True
            return
        self.tried[group] = (job.id, await self._lift(job.id))

    async def _lift(self, run_id: str) -> Lift:
        """The lift of the whole plugin over that run without a part of it."""
        paired = await self.engine.store.read(partial(pairing, run_a=run_id, run_b=self.whole.run_b))
        return lift(paired.pairs(), margin=MARGIN)

    async def _left(self) -> float | None:
        """What is left of the cap on dollars; None without one."""
        cap = self.settings.max_cost_usd
        if cap is None:
            return None
        runs = [self.whole.run_a, self.whole.run_b, *(run_id for run_id, _ in self.tried.values())]
        jobs = [await get_job(self.engine, run_id) for run_id in runs]
        return cap - sum(job.spent.get("costUsd", 0.0) for job in jobs)

    def _told(self, group: Group, run_id: str, found: Lift, adjusted: float | None = None) -> ComponentLift:
        p_value = found.p_value if adjusted is None else adjusted
        verdict: LiftVerdict = VERDICTS[found.verdict]
        return ComponentLift(
            components=tuple(map(str, group)),
            verdict="undecided" if verdict in {"helps", "harmful"} and p_value > SIGNIFICANT else verdict,
            delta=found.difference.delta,
            interval=found.difference.interval,
            p_value=p_value,
            cases=found.difference.cases,
            run=run_id,
        )
