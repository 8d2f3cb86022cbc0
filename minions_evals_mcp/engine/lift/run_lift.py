"""Runs a lift: a comparison of two arms on the same cases, each output made in a fresh workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.answers.comparison_summary import summarize_comparison
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.conclude.comparison import MARGIN, pairing
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.lift.ablation import Ablating, affordable_arms
from minions_evals_mcp.engine.lift.arms import Arm, ArmName, save_arms
from minions_evals_mcp.engine.lift.components import Ablation
from minions_evals_mcp.engine.lift.result import (
    VERDICTS,
    LiftResult,
    cost_changes,
    lift_words,
    trigger_figures,
    trigger_words,
)
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.engine.request import ComparisonRequest, RunRequest, RunSettings
from minions_evals_mcp.engine.run.pipeline import Progress
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark, silent
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.stats.lift import lift
from minions_evals_mcp.store.queries.arm_units import ArmUnit, arm_units
from minions_evals_mcp.targets.workspace import Workspaces


@dataclass(frozen=True, slots=True)
class LiftPlan:
    """The plan of a lift: its cases as records, the benchmark of those that are judged, and both arms.

    `benchmark_id` is None where the cases only ask whether the `skill` is taken up. `triggers_id` is the benchmark of those
    cases; they are run with it alone. `case_files` is the folder in which the cases' own files stand, `left_out` the evals of
    the file that ask for nothing. `notes` say what of the cases is not supported, `runs` how often they ask to be run.
    `ablation` finds which components of a plugin help.
    """

    name: str
    arms: Mapping[ArmName, Arm]
    benchmark_id: str | None
    records: Sequence[Record[Fields]] = ()
    triggers_id: str | None = None
    skill: str | None = None
    should_trigger: Mapping[str, bool] | None = None
    case_files: Path | None = None
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()
    runs: int | None = None
    ablation: Ablation | None = None

    def __post_init__(self) -> None:
        if self.arms["with"].laid == self.arms["without"].laid:
            raise BadInputError(
                "both arms use the same workspace files.",
                remedy=f"Name what to test with {argument('with_')}, and the alternative with {argument('without')}.",
            )
        if self.benchmark_id is None and self.skill is None:
            raise BadInputError(
                "the cases check only whether a skill is used, and this lift tests no skill.",
                remedy="Name a skill's folder, or give each case a check of its output.",
            )

    @property
    def subject_id(self) -> str:
        """The benchmark that is run: of the judged cases, else of those that ask whether the skill is taken up."""
        benchmark_id = self.benchmark_id or self.triggers_id
        assert benchmark_id is not None  # a suite without cases is refused
        return benchmark_id

    def workspaces(self) -> Workspaces:
        """The workspaces in which the target is started."""
        ablated = () if self.ablation is None else self.ablation.arms.values()
        return Workspaces({arm.version: arm.files for arm in (*self.arms.values(), *ablated)}, self.case_files)


async def run_lift(
    engine: Engine, plan: LiftPlan, settings: RunSettings, *, progress: Progress = silent
) -> LiftResult | None:
    """Returns what the lift came to; None while outputs wait to be judged by the caller or a person.

    Raises as `compare_prompt_versions` does; it goes on under its key.
    """
    if plan.runs is not None and "trials" not in settings.model_fields_set:
        settings = settings.model_copy(update={"trials": plan.runs})
    await save_records(engine, [Arrival(record) for record in plan.records])
    await save_arms(engine, [plan.arms["without"], plan.arms["with"]])
    if plan.benchmark_id is None:
        run_id = await _ask_triggers(engine, plan, settings, settings.key, progress)
        return await triggers_result(engine, plan, run_id)
    most_arms = 0
    if plan.ablation is not None:
        most_arms = await affordable_arms(engine, plan.ablation, plan.benchmark_id, settings.trials)
    request = ComparisonRequest.asked_by(
        settings,
        benchmark_id=plan.benchmark_id,
        version_a=plan.arms["without"].version,
        version_b=plan.arms["with"].version,
    )
    comparison = await compare_prompt_versions(engine, request, progress=progress)
    if comparison is None:
        return None
    trigger_run = None
    if plan.triggers_id is not None:
        trigger_run = await _ask_triggers(engine, plan, settings, f"{comparison.id}:triggers", progress)
    result = await lift_result(engine, plan, comparison.id, trigger_run=trigger_run)
    if plan.ablation is None or result.comparison is None:
        return result
    ablating = Ablating(engine, plan.ablation, settings, result.comparison, progress)
    components = await ablating.run(most_arms)
    if components is None:
        return None
    return result.model_copy(update={"components": components, "notes": (*result.notes, *ablating.notes())})


async def _ask_triggers(
    engine: Engine, plan: LiftPlan, settings: RunSettings, key: str | None, progress: Progress
) -> str:
    """The run of the cases that only ask whether the skill is taken up, with it in the workspace."""
    assert plan.triggers_id is not None
    request = RunRequest.asked_by(
        settings,
        subject_id=plan.triggers_id,
        prompt_version_ref=plan.arms["with"].version,
        key=key,
    )
    return (await run_benchmark(engine, request, progress=progress)).id


async def triggers_result(engine: Engine, plan: LiftPlan, run_id: str) -> LiftResult:
    """The result of a lift whose cases only ask whether the skill is taken up: its figures, and no verdict."""
    units = await engine.store.read(partial(arm_units, run_id=run_id))
    figures = trigger_figures(units, plan.should_trigger or {}, plan.skill)
    return LiftResult(
        name=plan.name, in_words=trigger_words(plan.name, figures), triggers=figures, trigger_run=run_id,
        left_out=tuple(plan.left_out), notes=tuple(plan.notes),
    )  # fmt: skip


async def lift_result(
    engine: Engine, plan: LiftPlan, comparison_id: str, *, trigger_run: str | None = None
) -> LiftResult:
    """The result of the lift under that comparison; the cases of `trigger_run` only asked whether the skill is taken up."""
    comparison = await summarize_comparison(engine, comparison_id)
    without, with_, asked = [
        await engine.store.read(partial(arm_units, run_id=run_id)) if run_id else []
        for run_id in (comparison.run_a, comparison.run_b, trigger_run)
    ]
    paired = await engine.store.read(partial(pairing, run_a=comparison.run_a, run_b=comparison.run_b))
    measured = lift(paired.pairs(), margin=MARGIN)
    return LiftResult(
        name=plan.name,
        verdict=VERDICTS[measured.verdict],
        in_words=lift_words(plan.name, measured, comparison),
        delta=measured.difference.delta,
        interval=measured.difference.interval,
        p_value=measured.p_value,
        comparison=comparison,
        costs=cost_changes(without, with_),
        triggers=trigger_figures([*with_, *asked], plan.should_trigger or {}, plan.skill),
        trigger_run=trigger_run,
        left_out=tuple(plan.left_out),
        notes=tuple(plan.notes),
    )


async def units_of(engine: Engine, result: LiftResult) -> dict[ArmName, list[ArmUnit]]:
    """The outputs of both arms; where the cases only ask whether the subject is taken up, there is one arm."""
    comparison = result.comparison
    runs: dict[ArmName, str | None] = {
        "with": result.trigger_run if comparison is None else comparison.run_b,
        "without": None if comparison is None else comparison.run_a,
    }
    return {
        arm: await engine.store.read(partial(arm_units, run_id=run_id)) if run_id else []
        for arm, run_id in runs.items()
    }
