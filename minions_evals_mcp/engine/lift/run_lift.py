"""Runs a lift: a comparison of two arms on the same cases, each output made in a fresh workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.engine.answers.comparison_summary import ComparisonSummary, summarize_comparison
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.conclude.comparison import MARGIN, pairing
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.lift.arms import Arm, ArmName, save_arms
from minions_evals_mcp.engine.lift.result import VERDICTS, LiftResult, cost_changes, lift_words, trigger_figures
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

    `triggers_id` is the benchmark of cases that only ask whether the `skill` is taken up; they are run with it alone.
    `case_files` is the folder in which the cases' own files stand.
    """

    name: str
    arms: Mapping[ArmName, Arm]
    benchmark_id: str
    records: Sequence[Record[Fields]] = ()
    triggers_id: str | None = None
    skill: str | None = None
    should_trigger: Mapping[str, bool] | None = None
    case_files: Path | None = None

    def __post_init__(self) -> None:
        if self.arms["with"].laid == self.arms["without"].laid:
            raise BadInputError(
                "both arms lay the same files into their workspaces.",
                remedy=f"Name what is tried with {argument('with_')}, and what it is tried against with {argument('without')}.",
            )

    def workspaces(self) -> Workspaces:
        """The workspaces in which the target is started."""
        return Workspaces({arm.version: arm.files for arm in self.arms.values()}, self.case_files)


async def run_lift(
    engine: Engine, plan: LiftPlan, settings: RunSettings, *, progress: Progress = silent
) -> LiftResult | None:
    """Returns what the lift came to; None while outputs wait to be judged by the caller or a person.

    Raises as `compare_prompt_versions` does; it goes on under its key.
    """
    await save_records(engine, [Arrival(record) for record in plan.records])
    await save_arms(engine, plan.arms)
    request = ComparisonRequest.asked_by(
        settings,
        benchmark_id=plan.benchmark_id,
        version_a=plan.arms["without"].version,
        version_b=plan.arms["with"].version,
    )
    comparison = await compare_prompt_versions(engine, request, progress=progress)
    if comparison is None:
        return None
    ids_asked = (
        [] if plan.triggers_id is None else [await _ask_triggers(engine, plan, settings, comparison.id, progress)]
    )
    return await lift_result(engine, plan, comparison.id, trigger_runs=ids_asked)


async def _ask_triggers(
    engine: Engine, plan: LiftPlan, settings: RunSettings, comparison_id: str, progress: Progress
) -> str:
    """The run of the cases that only ask whether the skill is taken up, with it in the workspace."""
    assert plan.triggers_id is not None
    request = RunRequest.asked_by(
        settings,
        subject_id=plan.triggers_id,
        prompt_version_ref=plan.arms["with"].version,
        key=f"{comparison_id}:triggers",
    )
    return (await run_benchmark(engine, request, progress=progress)).id


async def lift_result(
    engine: Engine, plan: LiftPlan, comparison_id: str, *, trigger_runs: Sequence[str] = ()
) -> LiftResult:
    """Returns what the lift under that comparison came to; `trigger_runs` only asked whether the skill is taken up."""
    comparison = await summarize_comparison(engine, comparison_id)
    units = await units_of(engine, comparison)
    tried = [*units["with"]]
    for run_id in trigger_runs:
        tried += await engine.store.read(partial(arm_units, run_id=run_id))
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
        costs=cost_changes(units["without"], units["with"]),
        triggers=trigger_figures(tried, plan.should_trigger or {}, plan.skill),
    )


async def units_of(engine: Engine, comparison: ComparisonSummary) -> dict[ArmName, list[ArmUnit]]:
    """The outputs of both arms."""
    runs: dict[ArmName, str] = {"with": comparison.run_b, "without": comparison.run_a}
    return {arm: await engine.store.read(partial(arm_units, run_id=run_id)) for arm, run_id in runs.items()}
