"""The case's own checks beside the documents' quality, ratios of times and costs, and groups of cases in an A/B test."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from minions_evals_mcp.domain.results import TestBranchExecution
from minions_evals_mcp.engine.ab_test.figures import against_control, lead_over_cases, spreads
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, AbTestResult, InlineBranch, run_ab_test
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.models.client import ModelClient
from minions_evals_mcp.models.registry import ModelRef
from minions_evals_mcp.models.replies import Completion, Reply, TokenUsage
from minions_evals_mcp.models.request import ModelRequest
from minions_evals_mcp.report import ab_words
from minions_evals_mcp.scoring.ab import Criterion
from minions_evals_mcp.stats.branches import mean_interval, paired_differences, winner_test
from tests.shared.engine.ab_workshop import Words
from tests.shared.engine.drawn_models import Drawn, Scripted
from tests.workshop import START, Json, benchmark, minion, save

BRANCHES = tuple(
    InlineBranch(name=name, provider="openai", model=name, is_control=name == "alike") for name in ("alike", "right")
)
ANSWERS = {"alike": "happy am", "right": "happy am sad"}


@dataclass
class Said(Drawn):
    """A client that answers as the model of that name does."""

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """The answer."""
        del deadline_s
        return Completion(ANSWERS[request.model], request.model, "stop", TokenUsage(5, 5), 100.0, 1e-5, 1, (), 30.0)


class Named(Scripted):
    """Clients that answer by the name of their model."""

    def client(self, ref: ModelRef) -> ModelClient:
        """The client."""
        del ref
        return self.drawn


async def ran(engine: Engine, criterion: Criterion, cases: int = 8, **fields: str) -> AbTestResult:
    engine.models, engine.opened_embedder = Named(Said("x")), Words()
    wanted: Json = {"output": "happy am"}
    checks: list[Json] = [{"type": "contains", "value": "sad"}]
    names = [f"c{number}" for number in range(cases)]
    made = [
        minion(
            name, "test-case", name=name, inputs={"q": name}, expectedOutputs=wanted, assertions=[*checks],
            **({"group": f"g{number % 2}"} if fields else {}),
        )
        for number, name in enumerate(names)
    ]  # fmt: skip
    await save(engine, made, benchmark("b", *names))
    return await run_ab_test(engine, AbTestRequest(benchmark_id="b", branches=BRANCHES, winner_criteria=criterion))


@dataclass
class Often(Drawn):
    """A client of which each model gives the wanted answer so many times, and then another."""

    left: dict[str, int] = field(default_factory=dict[str, int])

    async def complete(self, request: ModelRequest, *, deadline_s: float) -> Reply:
        """The answer."""
        del deadline_s
        self.left[request.model] -= 1
        text = "happy am" if self.left[request.model] >= 0 else "sad"
        return Completion(text, request.model, "stop", TokenUsage(5, 5), 100.0, 1e-5, 1, (), 30.0)


async def test_an_iteration_that_ties_is_no_win_of_the_control(engine: Engine) -> None:
    engine.models, engine.opened_embedder = Named(Often("x", left={"alike": 4, "right": 6})), Words()
    await save(engine, minion("c", "test-case", name="c", inputs={"q": "c"}, expectedOutputs={"output": "happy am"}))
    found = await run_ab_test(engine, AbTestRequest(test_case_id="c", branches=BRANCHES, iterations=8))
    by = {branch.branch_name: branch for branch in found.branches}
    assert by["right"].wins - by["alike"].wins == 2
    assert sum(branch.wins for branch in found.branches) + found.ties == 8
    assert found.winner is not None
    assert found.winner.branch_name == "right", "each iteration that decides something counts, and no other"
    assert f"{found.ties} of 8 iterations tied and count for no branch" in found.note
    assert f"first in {by['right'].wins} of 8 iterations, {found.ties} tied" in ab_words.how_sure(found)


async def test_the_first_line_says_that_the_winner_fails_its_checks_and_another_passes(engine: Engine) -> None:
    found = await ran(engine, "best_quality")
    assert found.winner is not None
    assert found.winner.branch_name == "alike", "document 5's quality is the likeness to what was expected"
    by = {branch.branch_name: branch for branch in found.branches}
    assert [(by[name].checks_passed, by[name].checked) for name in ("alike", "right")] == [(0, 8), (8, 8)]
    assert ab_words.headline(found) == (
        "alike wins by best_quality (1.000), but passes its checks in 0 of 8: right passes 8 of 8"
    )
    against = by["right"].against_control
    assert against is not None
    assert against.checks is not None
    assert (against.checks.delta, against.checks.interval) == (1.0, (1.0, 1.0))
    assert ab_words.against(by["right"]).startswith("checks +100 points")


async def test_the_cases_own_checks_may_decide_who_wins(engine: Engine) -> None:
    found = await ran(engine, "best_checked")
    assert found.winner is not None
    assert (found.winner.branch_name, found.supported) == ("right", True)
    assert ab_words.headline(found) == "right wins by best_checked (100 %)"


async def test_cases_of_one_group_are_one_unit(engine: Engine) -> None:
    found = await ran(engine, "best_checked", group="yes")
    against = next(branch.against_control for branch in found.branches if branch.against_control is not None)
    assert against.checks is not None
    assert against.checks.pairs == 2
    assert found.evidence == "undecidable", "two groups can decide nothing"


def made_in(latency_ms: float, quality: float = 0.5) -> TestBranchExecution:
    return TestBranchExecution(
        branch_id="x", output="", status="success", latency_ms=latency_ms, input_tokens=1, output_tokens=1, total_tokens=2,
        quality_score=quality, estimated_cost=latency_ms / 1e6,
    )  # fmt: skip


def test_an_interval_stays_within_what_the_figure_can_be() -> None:
    qualities = (1.0, 1.0, 1.0, 0.0)
    units = {number: [made_in(5.0 if number else 5e6, quality)] for number, quality in enumerate(qualities)}
    found = spreads(units)
    assert found.quality is not None
    assert found.latency_ms is not None
    assert (found.quality[1], found.latency_ms[0]) == (1.0, 0.0)
    (apart,) = paired_differences([[1.0, 1.0, 1.0, 0.0]], within=(-1.0, 1.0))
    assert apart is not None
    assert apart.interval is not None
    assert apart.interval[1] == 1.0
    (mean,) = [mean_interval([1.0, 1.0, 1.0, 0.0])]
    assert mean is not None
    assert mean[1] > 1


def test_a_skewed_time_is_compared_as_a_ratio_and_equal_branches_are_rarely_called_faster() -> None:
    draw = random.Random(3)  # noqa: S311  a simulation
    branches = [inline.record("c", at=START) for inline in BRANCHES]
    faster = covered = 0
    for _ in range(200):
        units = {branch.id: {case: [made_in(draw.lognormvariate(6, 1.0))] for case in range(15)} for branch in branches}
        ratio = against_control(branches, units)[branches[1].id].latency_ratio
        assert ratio is not None
        assert ratio.interval is not None
        covered += ratio.interval[0] <= 1 <= ratio.interval[1]
        best = min(units, key=lambda ident: sum(made[0].latency_ms for made in units[ident].values()))
        faster += lead_over_cases(units, best, "fastest").evidence == "supported"
    assert covered >= 184
    assert faster <= 14


@pytest.mark.parametrize("branches", [2, 3, 5])
def test_the_winner_of_equal_branches_is_rarely_supported_and_more_branches_cost_no_power(branches: int) -> None:
    draw = random.Random(branches)  # noqa: S311  a simulation

    def supported(lead: float) -> float:
        found = 0
        for _ in range(300):
            merits = [[draw.gauss(lead if not branch else 0.0, 1) for _ in range(20)] for branch in range(branches)]
            winner = max(range(branches), key=lambda branch: sum(merits[branch]))
            margins = [
                [mine - other for mine, other in zip(merits[winner], merits[branch], strict=True)]
                for branch in range(branches)
                if branch != winner
            ]
            found += winner_test(margins).p_value <= 0.05
        return found / 300

    assert supported(0.0) <= 0.065
    assert supported(1.2) >= 0.78
