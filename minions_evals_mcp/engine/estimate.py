"""What a run would do and cost at most, told before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic_core import to_json

from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine import planning
from minions_evals_mcp.engine.budget import Budget
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.judging import Judging
from minions_evals_mcp.engine.measures import Measure, measures
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run_benchmark import chosen_cases, get_benchmark
from minions_evals_mcp.errors import NotFoundError
from minions_evals_mcp.judges.llm import MAX_TOKENS
from minions_evals_mcp.models.prices import estimate_usd
from minions_evals_mcp.scoring.rubric import RubricInUse
from minions_evals_mcp.store import records

OUTPUT_CHARACTERS = 4_000
"""An output is taken to be so long: it is not there yet, or not looked at."""
PROMPT_CHARACTERS = 2_000
"""What the judge's prompt adds to case, criterion and output."""


class Estimate(Value):
    """Units (case × trial), judge's calls, and a bound on their cost; null where the price is unknown. Targets' calls come on top."""

    units: int
    skipped: list[str]
    judge_model: str | None
    model_calls: int
    judge_cost_usd: float | None
    live_target: bool


async def estimate(engine: Engine, request: RunRequest, *, kind: Literal["test-case", "benchmark"]) -> Estimate:
    """The estimate for that run; raises what starting it would, and writes nothing."""
    case_ids = await _cases(engine, request, kind)
    budget = Budget(None, None, _never)
    version = await planning.require_version(engine, request)
    judging = planning.judge_for(engine, request, budget, model=engine.judge_model())
    target = planning.target_for(engine, request, version, budget)
    plan = await planning.plan(engine, case_ids, judging, target)
    calls, characters = 0, 0
    for at in range(0, len(plan.case_ids), planning.PAGE):
        page = plan.case_ids[at : at + planning.PAGE]
        for measure in await engine.store.read(lambda db, page=page: measures(db, page, plan.rubrics)):
            asked = _calls(engine, judging, measure)
            calls += asked
            characters += asked * _characters(measure)
    return Estimate(
        units=len(plan.case_ids) * request.trials,
        skipped=list(plan.skipped),
        judge_model=plan.judge_model,
        model_calls=calls * request.trials,
        judge_cost_usd=_cost(engine, calls * request.trials, characters * request.trials),
        live_target=target is not None,
    )


def _never(reason: str) -> None:
    raise AssertionError(reason)


async def _cases(engine: Engine, request: RunRequest, kind: Literal["test-case", "benchmark"]) -> Sequence[str]:
    if kind == "benchmark":
        return chosen_cases(await get_benchmark(engine, request.subject_id), request)
    if await engine.store.read(lambda db: records.minion(db, request.subject_id)) is None:
        raise NotFoundError("test-case", request.subject_id)
    return (request.subject_id,)


def _calls(engine: Engine, judging: Judging, measure: Measure) -> int:
    if not isinstance(measure.yardstick, RubricInUse):
        return 0
    criteria = list(judging.kinds(measure.yardstick).values()).count("llm")
    return min(criteria, 1) if engine.config.judge_together else criteria


def _characters(measure: Measure) -> int:
    case = measure.case.fields
    return len(to_json([case.inputs, case.expected_outputs])) + OUTPUT_CHARACTERS + PROMPT_CHARACTERS


def _cost(engine: Engine, calls: int, characters: int) -> float | None:
    model = engine.judge_model()
    if calls == 0 or model is None:
        return 0.0
    each = estimate_usd(model.provider, model.model, characters // calls, MAX_TOKENS)
    return None if each is None else round(each * calls, 6)
