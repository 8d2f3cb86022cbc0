"""The sample that a benchmark needs to find a difference, from the variation of its own runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from minions_evals_mcp.domain.values import Id, Value
from minions_evals_mcp.engine.conclude.comparison import pairing
from minions_evals_mcp.errors import BadInputError, ConflictError, NotFoundError, SealedError
from minions_evals_mcp.next_steps import Next, list_them
from minions_evals_mcp.stats.case_pairs import CasePair, score_differences
from minions_evals_mcp.stats.settling import (
    POWER,
    Variation,
    smallest_effect,
    trials_needed,
    units_needed,
    variation_of,
    variation_of_one_run,
)
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db
from minions_evals_mcp.store.queries import run_pairs
from minions_evals_mcp.store.seals import is_sealed

RUNS_READ = 6
MOST_UNITS = 1000
"""A run of more test-runs has no minimum detectable difference in its summary: `plan` computes it."""


class SamplePlan(Value):
    """The sample that finds a difference of the overall score (`effect`, 0 to 1) in that share of comparisons (`power`).

    `unit` is what is counted: cases, or groups where cases share one. `unitsNeeded` are units in all, at `trials` of each version;
    `trialsNeeded` are trials of each of the units at hand, null where more trials do not suffice or nobody knows.
    `minimumDetectable` is the smallest difference that the units at hand find so often. `deviation` is the standard deviation of a
    unit's difference, seen between `runIds`; with one run it is estimated as if both versions varied independently (`isBound`).
    """

    benchmark_id: str
    effect: float
    power: float
    trials: int
    unit: str
    units: int
    cases: int
    units_needed: int
    trials_needed: int | None = None
    minimum_detectable: float | None = None
    deviation: float
    run_ids: tuple[str, ...]
    is_bound: bool = False
    summary: str = ""


class PlanRequest(Value):
    """The sample that a benchmark needs to find a difference between two versions."""

    benchmark_id: Id
    effect: Annotated[float, Field(gt=0, le=1)] = 0.1
    power: Annotated[float, Field(ge=0.5, le=0.99)] = POWER
    trials: Annotated[int, Field(ge=1, le=1000)] | None = None


def sample_plan(db: Db, request: PlanRequest) -> SamplePlan:
    """The plan from the benchmark's newest runs; raises `NotFoundError`, and `BadInputError` where no run has two cases."""
    if records.minion(db, request.benchmark_id) is None:
        raise NotFoundError("benchmark", request.benchmark_id, remedy=list_them("benchmark"))
    if is_sealed(db, request.benchmark_id):
        raise SealedError(
            f"{request.benchmark_id} is sealed: the variance of its scores is hidden.",
            remedy="Plan with an open benchmark.",
        )
    newest = run_pairs.newest_whole(db, request.benchmark_id, limit=RUNS_READ)
    if not newest:
        raise BadInputError(
            f"{request.benchmark_id} has no finished run, so the variance of its scores is unknown.",
            remedy=f"{Next('run-benchmark', {'benchmark_id': request.benchmark_id}, 'makes one')}.",
        )
    found = variation_between(db, newest)
    if found is None:
        raise BadInputError(
            f"the newest run of {request.benchmark_id} has fewer than two cases with a verdict.",
            remedy="Add test cases: the number needed depends on the variation between cases.",
        )
    seen, run_ids, cases = found
    trials = request.trials or seen.trials
    needed = units_needed(seen, request.effect, trials=trials, power=request.power)
    planned = SamplePlan(
        benchmark_id=request.benchmark_id,
        effect=request.effect,
        power=request.power,
        trials=trials,
        unit=seen.unit,
        units=seen.units,
        cases=cases,
        units_needed=needed,
        trials_needed=trials_needed(seen, request.effect, power=request.power),
        minimum_detectable=smallest_effect(seen, units=seen.units, trials=trials, power=request.power),
        deviation=seen.of_unit(0.0, trials) ** 0.5,
        run_ids=run_ids,
        is_bound=len(run_ids) == 1,
    )
    return planned.model_copy(update={"summary": plan_words(planned)})


def variation_between(db: Db, newest: Sequence[str]) -> tuple[Variation, tuple[str, ...], int] | None:
    """The largest variation between the newest run and one before it, else the bound from that run alone; with the runs and cases.

    None where the newest run has fewer than two cases or groups.
    """
    scores = run_pairs.case_scores(db, newest[0])
    found: list[tuple[Variation, tuple[str, ...], int]] = []
    for before in newest[1:]:
        try:
            pairs = pairing(db, before, newest[0], scores=(run_pairs.case_scores(db, before), scores)).pairs()
        except (BadInputError, ConflictError):
            continue
        differences = score_differences(pairs)
        if differences.by_group().cases < 2 or not differences.changed:
            continue
        found.append((variation_of(pairs, differences), (before, newest[0]), len(pairs)))
    if found:
        return max(found, key=lambda one: one[0].total)
    alone = [
        CasePair(ident, trials, trials, passed, passed, case.possible, case.group or "")
        for ident, case in scores.items()
        for trials, passed in ((tuple(case.fractions), tuple(case.passed)),)
    ]
    if len(alone) < 2:
        return None
    differences = score_differences(alone)
    if differences.by_group().cases < 2:
        return None
    return variation_of_one_run(alone, differences), (newest[0],), len(alone)


def detectable(db: Db, run_id: str, benchmark_id: str) -> float | None:
    """The smallest difference that another run beside this one finds in 80 %; None where it is not known."""
    if is_sealed(db, benchmark_id):
        return None
    newest = [run_id, *(ident for ident in run_pairs.newest_whole(db, benchmark_id, limit=2) if ident != run_id)][:2]
    found = variation_between(db, newest)
    if found is None:
        return None
    seen = found[0]
    return smallest_effect(seen, units=seen.units, trials=seen.trials)


def plan_words(plan: SamplePlan) -> str:
    """The plan in a few sentences."""
    several = "" if plan.trials == 1 else f" of {plan.trials} trials"
    found = (
        f"to find a difference of {plan.effect:g} in {plan.power:.0%} of the comparisons you need"
        f" {plan.units_needed} {_plural(plan.unit, plan.units_needed)}{several}"
    )
    reaches = (
        "detect no difference reliably"
        if plan.minimum_detectable is None
        else f"find a difference of {plan.minimum_detectable:.2g} or more"
    )
    have = f"Your {plan.units} {_plural(plan.unit, plan.units)} {reaches}."
    enough = plan.units >= plan.units_needed
    text = f"{found[0].upper()}{found[1:]}. {have}"
    if not enough and plan.trials_needed is not None and plan.trials_needed > plan.trials:
        text += f" {plan.trials_needed} trials of each would also be enough."
    if not enough and plan.unit == "group":
        text += " More cases in the same groups help less than more groups."
    if plan.is_bound:
        text += " This is based on one run and assumes independent cases. A second run measures it."
    return text


def _plural(unit: str, number: int) -> str:
    return unit if number == 1 else f"{unit}s"
