"""The benchmarks of one candidate are one family: approval decides over them together, in whatever order they were compared."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import Approval, ApprovalFamily, PromptComparison
from minions_evals_mcp.engine.compare.approve_prompt_version import ApprovalAsked, approve_prompt_version
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_prompt_versions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import ComparisonRequest
from minions_evals_mcp.errors import RuleError
from minions_evals_mcp.stats.attempts import FAMILY_STEPS, attempt_level, attempts_spent, family_attempts
from minions_evals_mcp.store.rows import insert
from tests.workshop import Json, all_of, benchmark, config_in, first, fleet, minion, opened, save

CASES = 16
TARGET = "python:tests.engine.compare.test_benchmark_families:scripted"
SAID = count()
SCRIPT: list[Iterator[bool]] = []
"""For each call of the target, whether its answer is right: those of the current version first, then the candidate's."""


async def scripted(inputs: Json) -> str:
    """The target: says the next line of its part, in words of its own: the same outputs would be the same comparison."""
    del inputs
    return f"{'good' if next(SCRIPT[0]) else 'bad'} {next(SAID)}"


@asynccontextmanager
async def shop(folder: Path, benchmarks: int, versions: int = 2) -> AsyncGenerator[Engine]:
    """The benchmarks b0, b1, … on the same cases, and versions v1, v2, … of one prompt."""
    async with opened(config_in(folder, concurrency=1)) as engine:
        await fleet(engine, CASES)
        names = [f"c{number}" for number in range(CASES)]
        await save(engine, [benchmark(f"b{number}", *names) for number in range(benchmarks)])
        for number in range(1, versions + 1):
            made = minion(f"v{number}", "prompt-version", content=f"Say {number}.", versionNumber=number, promptId="p")
            await save(engine, made)
        yield engine


async def tried(engine: Engine, name: str, right: int, candidate: str = "v2", *, before: int = 2) -> PromptComparison:
    """A comparison on that benchmark, in which so many answers of the candidate are right."""
    SCRIPT[:] = [iter([*first(before, CASES), *first(right, CASES)])]
    asked = ComparisonRequest(benchmark_id=name, version_a="v1", version_b=candidate, target=TARGET, fresh=True)
    made = await compare_prompt_versions(engine, asked)
    assert made is not None
    return made.fields


async def decided(engine: Engine, version: str = "v2", **asked: JsonValue) -> Approval:
    usual: Json = {"prompt_version_ref": version, "decided_by": "agent", "decided_by_type": "agent"}
    return (await approve_prompt_version(engine, ApprovalAsked.model_validate({**usual, **asked}))).fields


async def tried_in(folder: Path, order: Sequence[int], right: Sequence[int]) -> tuple[str, ApprovalFamily | None]:
    """The decision and its family where the benchmarks are compared in that order, each with its number of right answers."""
    async with shop(folder, len(right)) as engine:
        for number in order:
            await tried(engine, f"b{number}", right[number])
        try:
            approval = await decided(engine)
        except RuleError:
            return "refused", None
    assert approval.family is not None
    plain = [one.model_copy(update={"comparison_id": "c"}) for one in approval.family.benchmarks]
    return approval.decision, approval.family.model_copy(update={"benchmarks": (*plain,)})


@pytest.mark.parametrize("seed", range(8))
async def test_the_order_in_which_benchmarks_were_compared_decides_nothing(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  generated cases, no secret
    right = [draw.choice([2, 3, 8, 9, 10, 11, 12]) for _ in range(draw.choice([2, 3, 4]))]
    orders = [draw.sample(range(len(right)), len(right)) for _ in range(2)]
    orders.append(sorted(range(len(right)), key=right.__getitem__))
    found = [await tried_in(tmp_path / str(place), order, right) for place, order in enumerate(orders)]
    assert found[0] == found[1] == found[2], (right, orders)


async def test_the_generated_orders_have_both_decisions(tmp_path: Path) -> None:
    assert (await tried_in(tmp_path / "won", [0, 1], [14, 3]))[0] == "approved"
    assert (await tried_in(tmp_path / "lost", [0, 1], [9, 3]))[0] == "refused"


async def test_a_win_that_could_be_luck_among_the_benchmarks_is_not_approved(tmp_path: Path) -> None:
    async with shop(tmp_path, 2) as engine:
        won = await tried(engine, "b0", 9)  # 7 gained: p = .0156
        assert won.verdict == "improved"
        await tried(engine, "b1", 2)
        with pytest.raises(RuleError, match="compared on 2 benchmarks") as refused:
            await decided(engine)
        assert f"needs p <= {attempt_level(2) / 2:.3g}, and its p is 0.0156" in str(refused.value)
        assert (await all_of(engine, PromptComparison))[0].fields.verdict == "improved"  # a verdict never changes
        person = {"decided_by": "maria", "decided_by_type": "human", "override_reason": "b1 measures something else"}
        assert (await decided(engine, **person)).decision == "approved"


async def test_an_approval_keeps_the_family_over_which_it_decided(tmp_path: Path) -> None:
    async with shop(tmp_path, 3) as engine:
        for name, right in (("b0", 14), ("b1", 12), ("b2", 2)):
            await tried(engine, name, right)
        approval = await decided(engine)
    family = approval.family
    assert family is not None
    assert [one.benchmark_id for one in family.benchmarks] == ["b0", "b1", "b2"]
    assert (family.attempt, family.level) == (2, attempt_level(2))
    alone = [one.p_value for one in family.benchmarks]
    assert alone == pytest.approx([2**-11, 2**-9, 1.0])
    assert [one.adjusted_p for one in family.benchmarks] == pytest.approx([3 * 2**-11, 2 * 2**-9, 1.0])
    assert "significant over 3 benchmarks together (Holm, adjusted p = 0.0015, level 0.0076)" in approval.reason


async def test_named_benchmarks_must_all_be_won_and_the_others_still_count(tmp_path: Path) -> None:
    async with shop(tmp_path, 4) as engine:
        for name, right in (("b0", 14), ("b1", 13), ("b2", 9)):
            await tried(engine, name, right)
        with pytest.raises(RuleError, match=r"not improved|compared on 3 benchmarks"):
            await decided(engine, benchmark_ids=["b0", "b2"])
        with pytest.raises(RuleError, match=r"no comparison of .* on b3"):
            await decided(engine, benchmark_ids=["b0", "b3"])
        approval = await decided(engine, benchmark_ids=["b1", "b0"])
    assert approval.decision == "approved"
    assert approval.family is not None
    assert len(approval.family.benchmarks) == 3


async def test_the_benchmarks_of_one_candidate_cost_the_next_one_little(tmp_path: Path) -> None:
    async with shop(tmp_path, 9, versions=3) as engine:
        numbers = [(await tried(engine, f"b{place}", 3)).attempt for place in range(9)]
        assert numbers == [1, 2, 2, 3, 3, 3, 3, 3, 3]
        assert (await tried(engine, "b0", 3, "v3")).attempt == 4


def test_between_two_steps_a_growing_family_errs_at_most_as_often_as_its_attempt() -> None:
    for start, after in pairwise(FAMILY_STEPS):
        assert sum(1 / size for size in range(start, after)) <= 1
        assert family_attempts(start) == family_attempts(after - 1) == family_attempts(after) - 1


@pytest.mark.parametrize("seed", range(20))
def test_attempts_spent_do_not_depend_on_the_order_and_only_grow(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  generated cases, no secret
    compared = [(draw.randrange(3), draw.randrange(6)) for _ in range(30)]
    spent = [attempts_spent(compared[:number]) for number in range(31)]
    assert all(0 <= after - before <= 1 for before, after in pairwise(spent))
    assert attempts_spent(draw.sample(compared, 30)) == spent[-1]


@pytest.mark.parametrize("seed", range(6))
async def test_the_store_counts_attempts_as_the_engine_does(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  generated cases, no secret
    async with shop(tmp_path, 5, versions=4) as engine:
        await tried(engine, "b0", 3)
        (model,) = await all_of(engine, PromptComparison)
        await engine.store.write(
            lambda db: db.execute("DROP TRIGGER HR2_comparison_of_runs")
        )  # the runs of these are not there
        steps = [("v2", "b0")] + [(f"v{draw.randrange(2, 5)}", f"b{draw.randrange(5)}") for _ in range(11)]
        for number in range(2, len(steps) + 1):
            candidate, name = steps[number - 1]
            attempt = attempts_spent(steps[:number])
            copy = {
                "prompt_version_b": candidate, "benchmark_id": name, "benchmark_run_id_a": f"a{number}",
                "benchmark_run_id_b": f"z{number}", "attempt": attempt, "winner": candidate,
            }  # fmt: skip
            fields = model.fields.model_copy(update=copy)
            if attempt > 1:
                lower = replace(model, id=f"x{number}", fields=fields.model_copy(update={"attempt": attempt - 1}))
                with pytest.raises(RuleError, match="counts all attempts"):
                    await engine.store.write(partial(insert, record=lower))
            await engine.store.write(partial(insert, record=replace(model, id=f"x{number}", fields=fields)))
