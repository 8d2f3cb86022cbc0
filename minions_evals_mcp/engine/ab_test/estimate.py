"""The most that an A/B test would call and cost, told before anything runs."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import MAX_TOKENS, TestBranch
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.ab_test.plan import planned
from minions_evals_mcp.engine.ab_test.request import AbTestRequest
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.models.prices import estimate_usd


class AbEstimate(Value):
    """The models' calls and a bound on their cost; null where the price of one is unknown."""

    branches: int
    test_cases: int
    iterations: int
    model_calls: int
    cost_usd: float | None


async def estimate_ab_test(engine: Engine, request: AbTestRequest) -> AbEstimate:
    """The estimate for that A/B test; raises what starting it would, and writes nothing."""
    plan = await planned(engine, request)
    once = [_cost(branch.fields, len(case.prompt)) for case in plan.cases for branch in plan.branches]
    known = [cost for cost in once if cost is not None]
    total = round(sum(known) * request.iterations, 6) if len(known) == len(once) else None
    return AbEstimate(
        branches=len(plan.branches),
        test_cases=len(plan.cases),
        iterations=request.iterations,
        model_calls=len(once) * request.iterations,
        cost_usd=total,
    )


def _cost(branch: TestBranch, characters: int) -> float | None:
    return estimate_usd(branch.provider, branch.model, characters, branch.max_tokens or MAX_TOKENS)
