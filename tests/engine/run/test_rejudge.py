"""Stored outputs judged anew: another judge or rubric, no target call, no point of the trend."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, EvalTrend, TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.compare.compare_prompt_versions import compare_runs
from minions_evals_mcp.engine.conclude.comparison import pairing
from minions_evals_mcp.engine.run.rejudge import rejudge_request
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.engine.run.units import OF_ANOTHER
from minions_evals_mcp.errors import ConflictError, NotFoundError
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    fleet,
    found,
    measured,
    minion,
    opened,
    outbox,
    save,
)

TOLD: list[str] = []


def counted(inputs: dict[str, object]) -> str:
    """A target that counts how often it was asked."""
    TOLD.append(str(inputs))
    return "good"


async def test_the_same_outputs_are_judged_under_the_rubric_as_it_is_now_and_no_target_is_called(
    tmp_path: Path,
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 3)
        made = await bench(engine, "b", target="python:tests.engine.run.test_rejudge:counted", trials=2)
        asked = len(TOLD)
        await save(engine, case("c1", expectedOutputs={"output": "better"}))
        request = await rejudge_request(engine, made.id, triggered_by="me", key="again")
        job = await run_benchmark(engine, request)
        assert len(TOLD) == asked
        before, now = [(await found(engine, one.id, BenchmarkRun)).fields for one in (made, job)]
        assert (before.passed_count, now.passed_count, now.total_count) == (6, 4, 6)
        runs = [one.fields for one in await all_of(engine, TestRun)]
        assert all(run.actual_output == {"output": "good"} for run in runs)
        assert {run.produced_by for run in runs} == {"python:tests.engine.run.test_rejudge:counted"}


async def test_a_rejudged_run_is_no_regression_and_no_point_of_the_trend(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 4)
        await measured(engine, "v1", [True] * 4)
        (run,) = await all_of(engine, BenchmarkRun)
        (trend,) = await all_of(engine, EvalTrend)
        told = len(await outbox(engine))
        await save(engine, [case(f"c{n}", expectedOutputs={"output": "other"}) for n in range(4)])
        job = await run_benchmark(engine, await rejudge_request(engine, run.id, triggered_by="me"))
        now = (await found(engine, job.id, BenchmarkRun)).fields
        assert (now.passed_count, now.is_regression, now.purpose, now.prompt_version_ref) == (
            0,
            False,
            "comparison",
            "v1",
        )
        assert await all_of(engine, EvalTrend) == [trend]
        assert len(await outbox(engine)) == told


async def test_a_run_under_an_old_rubric_can_be_compared_once_it_is_judged_anew(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 10)
        await measured(engine, "v1", [False] * 10)
        (old,) = await all_of(engine, BenchmarkRun)
        await save(engine, [case(f"c{n}", expectedOutputs={"output": "goo"}) for n in range(10)])
        await measured(engine, "v2", [True] * 10)
        new = (await all_of(engine, BenchmarkRun))[-1]
        again = await run_benchmark(engine, await rejudge_request(engine, old.id, triggered_by="me"))
        assert (await compare_runs(engine, again.id, new.id)).fields.verdict == "improved"


async def test_a_case_that_the_run_had_no_output_for_is_skipped_by_name(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await save(engine, [case(n, expectedOutputs={"output": "x"}) for n in ("c0", "c1")], benchmark("b", "c0", "c1"))
        await save(engine, answer("a", "c0", "x"))
        made = await bench(engine, "b")
        job = await run_benchmark(engine, await rejudge_request(engine, made.id, triggered_by="me"))
        now = (await found(engine, job.id, BenchmarkRun)).fields
        assert now.total_count == 1
        (line,) = (await summarize(engine, job.id)).unscored
        assert (line.test_case_id, line.reason) == ("c1", f"the run {made.id} has no output of this case for trial 1")


async def test_an_unknown_run_is_refused(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        with pytest.raises(NotFoundError, match="benchmark-run"):
            await rejudge_request(engine, "none", triggered_by="me")


@pytest.mark.parametrize("edited", ["inputs", "world", "conversation"])
async def test_an_output_that_was_made_for_something_else_is_none_of_the_case_as_it_is_now(
    tmp_path: Path, edited: str
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        made = await bench(engine, "b", target="python:tests.engine.run.test_rejudge:counted")
        await save(engine, _world("w", "x"))
        now: Json = {"inputs": {"q": "another"}, "world": "w", "conversation": {"player": "caller", "goal": "Get it"}}
        await save(engine, case("c1", expectedOutputs={"output": "good"}, **{edited: now[edited]}))
        job = await run_benchmark(engine, await rejudge_request(engine, made.id, triggered_by="me"))
        again = (await found(engine, job.id, BenchmarkRun)).fields
        assert again.total_count == 1
        (line,) = (await summarize(engine, job.id)).unscored
        assert (line.test_case_id, line.reason) == ("c1", OF_ANOTHER)


async def test_what_was_made_in_a_chosen_world_is_judged_anew_as_made_there(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        await fleet(engine, 2)
        await save(engine, _world("w", "x"))
        target = "python:tests.engine.run.test_rejudge:counted"
        there, here = [await bench(engine, "b", target=target, **chosen) for chosen in ({"world": "w"}, {})]
        first, second = there.id, here.id
        for _ in range(2):  # a run that is judged anew can itself be judged anew
            first, second = [
                (await run_benchmark(engine, await rejudge_request(engine, run, triggered_by="me"))).id
                for run in (first, second)
            ]
            with pytest.raises(ConflictError, match=r"not comparable: c0 \(testCase\)"):
                await engine.store.read(lambda db, pair=(first, second): pairing(db, *pair))


def _world(ident: str, result: str) -> Record[Fields]:
    servers: Json = {"desk": {"tools": [{"name": "look", "rules": [{"result": result}]}]}}
    return minion(ident, "world", name=ident, servers=servers)
