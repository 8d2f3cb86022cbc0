"""An A/B test over forty cases and three branches, beside a computation that shares nothing with ours but the executions."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, InlineBranch, run_ab_test
from minions_evals_mcp.scoring.ab import Criterion
from tests.shared.engine.ab_workshop import Words, executions
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.workshop import Json, benchmark, config_in, minion, opened, save

CASES = 40
BRANCHES = tuple(InlineBranch(name=name, provider="openai", model="gpt-4o", is_control=name == "b") for name in "abc")


def merit(of_branch: list[TestBranchExecution], criterion: str, fastest: float, cheapest: float) -> float:
    """What the document ranks a branch by, from its means."""
    quality = fmean(float(made.quality_score or 0) for made in of_branch)
    latency = fmean(made.latency_ms for made in of_branch)
    cost = fmean(float(made.estimated_cost or 0) for made in of_branch)
    return {
        "best_quality": quality,
        "fastest": -latency,
        "cheapest": -cost,
        "best_value": quality / cost,
        "balanced": 0.4 * quality + 0.3 * fastest / latency + 0.3 * cheapest / cost,
        "best_checked": fmean(float(made.checks_passed or 0) for made in of_branch) + 1e-9 * quality,
    }[criterion]


def interval(values: list[float], level: float = 0.95) -> tuple[float, float]:
    """Student's interval, its quantile by scipy."""
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1)) * stdev(values) / len(values) ** 0.5  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  scipy has no types
    return fmean(values) - half, fmean(values) + half


def order_statistics(figures: list[float]) -> tuple[float, float]:
    """The interval of a median of forty: the 14th and the 27th value (Conover 1999, table A3)."""
    ordered = sorted(figures)
    return ordered[13], ordered[26]


def wilson(passed: int, of: int) -> tuple[float, float]:
    """Wilson's interval of a share in percent, as Newcombe (1998) writes it."""
    z = 1.959963984540054
    middle, spread = 2 * passed + z**2, z * (z**2 + 4 * passed * (1 - passed / of)) ** 0.5
    return 100 * (middle - spread) / (2 * (of + z**2)), 100 * (middle + spread) / (2 * (of + z**2))


@pytest.mark.parametrize("criterion", get_args(Criterion))
async def test_ranking_intervals_and_totals_are_those_of_an_independent_computation(
    criterion: str, tmp_path: Path
) -> None:
    idents = [f"c{number}" for number in range(CASES)]
    wanted: Json = {"output": "happy am"}
    async with opened(config_in(tmp_path)) as engine:
        engine.models = Scripted(Drawn(criterion))
        engine.opened_embedder = Words()
        await save(
            engine,
            [minion(ident, "test-case", name=ident, inputs={"q": ident}, expectedOutputs=wanted) for ident in idents],
            benchmark("b", *idents),
        )
        asked = {"benchmark_id": "b", "branches": BRANCHES, "winner_criteria": criterion}
        found = await run_ab_test(engine, AbTestRequest.model_validate(asked))
        made: dict[str, list[TestBranchExecution]] = defaultdict(list)
        for record in sorted(await executions(engine), key=lambda one: idents.index(str(one.fields.test_case_id))):
            made[record.fields.branch_id].append(record.fields)
    assert [len(of_branch) for of_branch in made.values()] == [CASES] * 3
    fastest = min(fmean(one.latency_ms for one in of_branch) for of_branch in made.values())
    cheapest = min(fmean(float(one.estimated_cost or 0) for one in of_branch) for of_branch in made.values())
    order = sorted(made, key=lambda ident: -merit(made[ident], criterion, fastest, cheapest))
    assert [branch.branch_id for branch in found.branches] == order
    assert [branch.rank for branch in found.branches] == [1, 2, 3]
    assert found.winner is not None
    assert found.winner.branch_id == order[0]
    control = made[BRANCHES[1].id]
    for branch in found.branches:
        mine = made[branch.branch_id]
        quality = [float(one.quality_score or 0) for one in mine]
        latency = [one.latency_ms for one in mine]
        costs = [float(one.estimated_cost or 0) for one in mine]
        assert branch.total_cost == pytest.approx(sum(costs))
        assert branch.quality_interval == pytest.approx(interval(quality), abs=1e-6)
        assert branch.latency_interval == pytest.approx(interval(latency), rel=1e-6)
        assert branch.cost_interval == pytest.approx(interval(costs), rel=1e-6)
        for figures, middle, ends, far in (
            (latency, branch.median_latency_ms, branch.median_latency_interval, branch.p95_latency_ms),
            (costs, branch.median_cost, branch.median_cost_interval, branch.p95_cost),
        ):
            assert (middle, far) == (
                pytest.approx(np.median(figures)), pytest.approx(np.quantile(figures, 0.95)),
            )  # fmt: skip
            assert ends == order_statistics(figures)
        passed = sum(one >= 0.7 for one in quality)
        assert branch.pass_rate == pytest.approx(100 * passed / CASES)
        assert branch.pass_rate_interval == pytest.approx(wilson(passed, CASES), abs=1e-6)
        if branch.branch_id == BRANCHES[1].id:
            assert branch.against_control is None
            continue
        assert branch.against_control is not None
        assert branch.against_control.latency_ms is not None
        apart = [one.latency_ms - base.latency_ms for one, base in zip(mine, control, strict=True)]
        assert branch.against_control.latency_ms.delta == pytest.approx(fmean(apart))
        assert branch.against_control.latency_ms.interval == pytest.approx(interval(apart, 1 - 0.05 / 2), rel=1e-6)
    assert sum(branch.total_cost or 0 for branch in found.branches) == pytest.approx(found.spent["costUsd"])
