"""A/B tests over a benchmark: the same branches on every case, beside the control, checked by an independent computation."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import fmean, stdev

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.engine.ab_test.figures import lead_over_cases
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, AbTestResult, InlineBranch, rotated, run_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.scoring.ab import Criterion
from tests.shared.engine.ab_workshop import ANTHROPIC, GEMINI, OPENAI, branch, executions, laboratory
from tests.shared.fakes.llm_server import serving
from tests.workshop import benchmark, minion, save

CASES = 12
T_11 = 2.200985
"""The .975 quantile of Student's t with 11 degrees of freedom, from a table."""
T_11_OF_TWO = 2.593093
"""The .9875 quantile: two differences from one control."""


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving())
        yield await stack.enter_async_context(laboratory(tmp_path, server))


async def fleet(lab: Engine) -> None:
    """Cases of which the fake server answers every third as expected: it says the question backwards."""
    await save(lab, minion("mood@1", "prompt-version", content="Say: {{text}}", versionNumber=1, promptId="mood"))
    for number in range(CASES):
        wanted = "happy am I Say:" if number % 3 else "sad not"
        await save(
            lab,
            minion(
                f"c{number}", "test-case", name=f"c{number}", promptId="mood", inputs={"text": "I am happy"},
                expectedOutputs={"output": wanted},
            ),
        )  # fmt: skip
    await save(lab, benchmark("b", *(f"c{number}" for number in range(CASES))))


async def over(lab: Engine, **asked: JsonValue | tuple[str, ...] | tuple[InlineBranch, ...]) -> AbTestResult:
    return await run_ab_test(lab, AbTestRequest.model_validate({"benchmark_id": "b", **asked}))


INLINE = (
    InlineBranch(name="gpt", provider="openai", model=OPENAI, is_control=True),
    InlineBranch(name="claude", provider="anthropic", model=ANTHROPIC, temperature=0.2),
    InlineBranch(name="gemini", provider="gemini", model=GEMINI),
)


async def test_ranking_means_intervals_and_totals_are_those_of_an_independent_computation(lab: Engine) -> None:
    await fleet(lab)
    found = await over(lab, branches=INLINE, winner_criteria="cheapest")
    made: dict[str, list[TestBranchExecution]] = {}
    for one in await executions(lab):
        made.setdefault(one.fields.branch_id, []).append(one.fields)
    assert (found.test_cases, found.completed_iterations, len(found.branches)) == (CASES, 1, 3)
    control = [float(one.estimated_cost or 0) for one in made[INLINE[0].id]]
    for shown in found.branches:
        mine = made[shown.branch_id]
        quality = [float(one.quality_score or 0) for one in mine]
        costs = [float(one.estimated_cost or 0) for one in mine]
        assert shown.runs == CASES
        assert shown.quality_score == pytest.approx(fmean(quality))
        assert shown.total_cost == pytest.approx(sum(costs))
        assert shown.pass_rate == pytest.approx(100 * sum(one >= 0.7 for one in quality) / CASES)
        half = T_11 * stdev(quality) / CASES**0.5
        assert shown.quality_interval == pytest.approx((fmean(quality) - half, fmean(quality) + half), abs=1e-5)
        if shown.branch_id != INLINE[0].id:
            assert shown.against_control is not None
            assert shown.against_control.cost_usd is not None
            apart = [mine_cost - base for mine_cost, base in zip(costs, control, strict=True)]
            assert shown.against_control.cost_usd.delta == pytest.approx(fmean(apart))
            spread = T_11_OF_TWO * stdev(apart) / CASES**0.5
            low, high = shown.against_control.cost_usd.interval or (0.0, 0.0)
            assert (low, high) == pytest.approx((fmean(apart) - spread, fmean(apart) + spread), abs=1e-6)
    by_cost = sorted(made, key=lambda ident: fmean(float(one.estimated_cost or 0) for one in made[ident]))
    assert [one.branch_id for one in found.branches] == by_cost
    assert found.winner is not None
    assert found.winner.branch_id == by_cost[0]
    assert found.supported, "it is cheaper in each of the twelve cases"
    assert {one.test_case_id for one in made[INLINE[1].id]} == {f"c{number}" for number in range(CASES)}
    assert (made[INLINE[1].id][0].configuration or {})["temperature"] == 0.2


async def test_a_branch_of_another_case_may_be_named_and_several_cases_are_run_by_name(lab: Engine) -> None:
    await fleet(lab)
    await save(lab, branch("a", testCaseId="c0"), branch("x", ANTHROPIC, testCaseId="c5"))
    found = await run_ab_test(lab, AbTestRequest(test_case_ids=("c1", "c2"), branch_ids=("a", "x")))
    assert (found.test_cases, [one.runs for one in found.branches]) == (2, [2, 2])
    assert found.evidence == "undecidable", "two cases can decide nothing"


async def test_where_no_branch_passes_the_note_says_so(lab: Engine) -> None:
    await fleet(lab)
    found = await run_ab_test(lab, AbTestRequest(test_case_ids=("c0", "c3"), branches=INLINE[:2]))
    assert "no branch passes: no output reaches a quality of 0.7" in found.note


async def test_a_test_is_resumed_under_its_key_and_pays_for_nothing_twice(lab: Engine) -> None:
    await fleet(lab)
    first = await over(lab, branches=INLINE, key="k")
    again = await over(lab, branches=INLINE, key="k")
    assert (again.run_id, again.spent) == (first.run_id, first.spent)
    assert len(await executions(lab)) == 3 * CASES


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"benchmark_id": "b", "test_case_id": "c0"}, "exactly one of testCaseId"),
        ({"benchmark_id": None}, "exactly one of testCaseId"),
        ({"branches": INLINE[:1]}, "2 to 5 branches"),
        ({"branches": (INLINE[0], INLINE[0])}, "a branch is named twice"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(asked: dict[str, JsonValue], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AbTestRequest.model_validate({"benchmark_id": "b", "branches": INLINE, **asked})


async def test_a_benchmark_or_case_that_expects_no_text_is_named(lab: Engine) -> None:
    await fleet(lab)
    await save(lab, minion("bare", "test-case", name="bare", inputs={"text": "x"}), benchmark("b", "c0", "bare"))
    with pytest.raises(BadInputError, match="the test case bare has none"):
        await over(lab, branches=INLINE)


def test_each_branch_starts_first_equally_often() -> None:
    firsts = [rotated(3, turn)[0] for turn in range(30)]
    assert [firsts.count(place) for place in range(3)] == [10, 10, 10]


def test_identical_branches_are_seldom_called_supported() -> None:
    order = random.Random(7)  # noqa: S311  a seeded simulation
    criteria: tuple[Criterion, ...] = ("best_quality", "fastest", "cheapest", "balanced")
    false = dict.fromkeys(criteria, 0)
    for _ in range(60):
        units = {name: {place: [drawn(order)] for place in range(40)} for name in ("a", "b", "c")}
        for criterion in criteria:
            winners = [lead_over_cases(units, winner, criterion) for winner in units]
            false[criterion] += any(one.evidence == "supported" for one in winners)
    assert max(false.values()) <= 6, json.dumps(false)


def drawn(order: random.Random) -> TestBranchExecution:
    """An execution whose figures come from one distribution."""
    return TestBranchExecution(
        branch_id="x", output="", status="success", latency_ms=order.lognormvariate(6, 0.4), input_tokens=1, output_tokens=1,
        total_tokens=2, quality_score=order.betavariate(5, 2), estimated_cost=order.lognormvariate(-6, 0.3),
    )  # fmt: skip
