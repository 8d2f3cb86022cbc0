"""Runs that outlive a call: one key, one run, one worker at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.results import BenchmarkRun, TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job, lock_path, request_of, set_state, waiting_reason, working_on
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.conclusion import conclude_job
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import (
    BadInputError,
    BusyError,
    ConflictError,
    InstrumentError,
    NotFoundError,
    StoreError,
    UnsupportedError,
)
from minions_evals_mcp.next_steps import Next, next_in
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    counts,
    first,
    fleet,
    measured,
    opened,
    rubric,
    save,
    try_case,
)


async def test_the_same_key_gives_the_same_run_and_judges_nothing_twice(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(3, 4), key="nightly")
    before = await counts(engine)
    again = await bench(engine, "b", prompt_version_ref="v1", key="nightly")
    assert (again.id, again.state) == ("job1", "completed")
    assert await counts(engine) == before


async def test_without_a_key_each_run_is_its_own_under_its_id(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", first(2, 2))
    job = await bench(engine, "b", prompt_version_ref="v1")
    assert job.key == job.id
    assert (await get_job(engine, job.id)).id == job.id
    assert len(await all_of(engine, BenchmarkRun)) == 2
    with pytest.raises(NotFoundError, match="'nowhere'"):
        await get_job(engine, "nowhere")


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"trials": 2}, "trials"),
        ({"prompt_version_ref": "v2"}, "prompt_version_ref|promptVersionRef"),
        ({"judge": "heuristic"}, "judge"),
        ({"triggered_by": "ada"}, "triggered_by|triggeredBy"),
        ({"purpose": "comparison"}, "purpose"),
        ({"fresh": True}, "fresh"),
    ],
)
async def test_a_key_that_belongs_to_another_request_is_refused_and_says_what_differs(
    engine: Engine, other: Json, named: str
) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", first(2, 2), key="k")
    await save(engine, answer("other", "c0", "good", promptVersionRef="v2"))
    before = await counts(engine)
    request: dict[str, JsonValue] = {"prompt_version_ref": "v1", **other}
    with pytest.raises(ConflictError, match=f"'k' belongs to the run job1 with other settings: ({named}) differ"):
        await bench(engine, "b", key="k", **request)
    assert await counts(engine) == before


async def test_a_key_of_a_benchmark_is_no_key_of_a_case(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", first(2, 2), key="k")
    with pytest.raises(ConflictError, match="'k' belongs to the run job1"):
        await try_case(engine, "c0", prompt_version_ref="v1", key="k")


async def test_a_suite_that_was_edited_since_the_run_began_is_another_measurement(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", first(2, 2), key="k")
    await save(engine, case("c0", expectedOutputs={"output": "better"}))
    with pytest.raises(ConflictError, match=r"another suite, judge or target: (testCase|test_case)\b"):
        await bench(engine, "b", prompt_version_ref="v1", key="k")


async def test_the_caps_may_differ_when_a_run_is_resumed(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", first(2, 2), key="k", max_seconds=60)
    assert (await bench(engine, "b", prompt_version_ref="v1", key="k", max_seconds=90)).id == "job1"


async def test_a_run_that_somebody_works_on_is_busy(engine: Engine) -> None:
    await save(engine, rubric("r", 1, a={}), case("c", rubricId="r"), answer("a", "c", "x"), benchmark("b", "c"))
    job = await bench(engine, "b", key="k")
    assert job.state == "awaiting-judgments"
    async with working_on(engine, job):
        with pytest.raises(BusyError, match="job1 is being worked on by another process"):
            await bench(engine, "b", key="k")
    assert (await bench(engine, "b", key="k")).state == "awaiting-judgments"
    assert not lock_path(engine.config.db, job.id).exists()


async def test_the_lock_falls_however_the_work_ends(engine: Engine) -> None:
    await fleet(engine, 1)
    await measured(engine, "v1", [True], key="k")
    job = await get_job(engine, "k")
    with pytest.raises(RuntimeError, match="broken"):
        async with working_on(engine, job):
            raise RuntimeError("broken")
    async with working_on(engine, job):
        pass


async def test_a_run_whose_process_is_gone_says_so_and_how_it_goes_on(engine: Engine) -> None:
    await fleet(engine, 1)
    await measured(engine, "v1", [True], key="k")
    job = await get_job(engine, "k")
    await set_state(engine, job, "running")
    async with working_on(engine, job):
        assert (await summarize(engine, "k")).reason == ""
    with pytest.raises(RuntimeError, match="killed"):
        async with working_on(engine, job):
            raise RuntimeError("killed")
    assert next_in((await summarize(engine, "k")).reason) == (
        Next("run-benchmark", {"benchmark_id": "b", "prompt_version_ref": "v1", "key": "k"}, "resumes it"),
    )


async def test_a_run_that_the_store_stopped_says_so_and_not_that_somebody_interrupted_it(engine: Engine) -> None:
    async def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full.")

    await fleet(engine, 1)
    await save(engine, answer("a", "c0", "good"))
    with pytest.raises(StoreError):
        await run_benchmark(engine, RunRequest(subject_id="b", key="k"), place=full)
    job = await get_job(engine, "k")
    assert (job.state, job.reason) == ("stopped", "the disk is full")


async def test_a_misspelt_embedder_is_refused_before_anything_runs(engine: Engine) -> None:
    await fleet(engine, 1)
    engine.config = replace(engine.config, embedder="wordlama")
    with pytest.raises(UnsupportedError, match="unknown embedder 'wordlama'"):
        await bench(engine, "b", key="k")
    with pytest.raises(NotFoundError):
        await get_job(engine, "k")


async def test_what_the_instrument_failed_at_is_tried_again_under_the_same_key(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(3)]
    async with serving(FakeSettings(p400=1.0)) as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, rubric("r", 1, a={}), [case(name, rubricId="r") for name in names], benchmark("b", *names))
        await save(engine, [answer(f"a-{name}", name, f"Output of {name}.") for name in names])
        with pytest.raises(InstrumentError):
            await bench(engine, "b", key="k")
        assert not await all_of(engine, BenchmarkRun)
        server.configure(FakeSettings())
        job = await bench(engine, "b", key="k")
        assert (job.state, server.judge) == ("completed", 3)
        assert len(await all_of(engine, TestRun)) == 3
        assert job.spent["calls"] >= 3


async def test_a_cost_cap_that_cannot_be_held_is_refused_before_any_call(tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(6)]
    async with (
        serving() as server,
        opened(config_in(tmp_path, model_url=server.url, concurrency=1)) as engine,
    ):
        await save(engine, rubric("r", 1, a={}), [case(name, rubricId="r") for name in names], benchmark("b", *names))
        await save(engine, [answer(f"a-{name}", name, f"Output of {name}.") for name in names])
        with pytest.raises(BadInputError, match="price of anthropic:fake-judge is unknown"):
            await bench(engine, "b", key="k", max_cost_usd=1.0)
        assert server.requests == 0
        with pytest.raises(NotFoundError):
            await summarize(engine, "k")


def test_what_a_run_waits_for_is_told_of_one_output_and_of_several() -> None:
    assert waiting_reason(1) == "1 output waits to be judged"
    assert waiting_reason(2) == "2 outputs wait to be judged"


async def test_a_run_that_somebody_else_concluded_meanwhile_is_not_left_running(engine: Engine) -> None:
    await fleet(engine, 1)
    await measured(engine, "v1", [True], key="k")
    job = await get_job(engine, "k")
    await set_state(engine, job, "running")
    await engine.store.write(partial(conclude_job, engine=engine, job=job, request=request_of(job)))
    assert (await get_job(engine, "k")).state == "completed"
