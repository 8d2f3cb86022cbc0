"""A regression says what changed since the run before; a fall between runs of unlike origin is none."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import pytest

from minions_evals_mcp.domain.results import BenchmarkRun, EvalFailure
from minions_evals_mcp.engine.answers.run_before import read_before
from minions_evals_mcp.engine.cases.baselines import update_expected_output
from minions_evals_mcp.engine.conclude.setup import changes_said, outputs_exchanged
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.store import jobs
from tests.workshop import (
    Json,
    answer,
    bench,
    benchmark,
    benchmark_run,
    case,
    config_in,
    first,
    fleet,
    found,
    judged_case,
    measured,
    minion,
    opened,
    outbox,
    rubric,
    save,
    says,
)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    async with opened(config_in(tmp_path)) as engine:
        yield engine


async def regression_of(engine: Engine, run_id: str) -> EvalFailure:
    return (await found(engine, f"{run_id}:regression", EvalFailure)).fields


async def versions(engine: Engine, *numbers: int) -> None:
    await save(
        engine,
        [minion(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in numbers],
    )


async def test_a_regression_says_which_version_followed_which(engine: Engine) -> None:
    await fleet(engine, 4)
    await versions(engine, 1, 2)
    await measured(engine, "v1", first(4, 4))
    run = await measured(engine, "v2", first(1, 4))
    assert run.is_regression
    assert "changed since: the version: v1 → v2" in run.notes
    assert "changed since: the version: v1 → v2." in (await regression_of(engine, "job2")).description
    (told,) = [one for one in await outbox(engine, "agent-message") if one.record.fields.type == "benchmark-regression"]  # pyright: ignore[reportAttributeAccessIssue]  of that type
    assert told.record.fields.payload["whatChanged"] == ["the version: v1 → v2"]  # pyright: ignore[reportAttributeAccessIssue]  as above


async def test_a_regression_in_which_only_the_recorded_outputs_are_others_names_them(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(4, 4))
    await save(
        engine,
        [
            answer(f"again{n}", f"c{n}", "bad", promptVersionRef="v1", triggeredAt="2026-12-01T00:00:00Z")
            for n in range(3)
        ],
    )
    run = await benchmark_run(engine, await bench(engine, "b", prompt_version_ref="v1"))
    assert run.is_regression
    assert "changed since: the recorded outputs: v1/c0 → again0 and more" in run.notes
    after, _ = [job.id for job in await engine.store.read(jobs.jobs)]
    before = await engine.store.read(partial(read_before, run_id=after))
    assert before is not None
    assert before.changed == ("the recorded outputs: v1/c0 → again0 and more",)
    assert await engine.store.read(partial(outputs_exchanged, before=after, now=after)) == ()
    assert changes_said(()) == "no visible change: the model, the world or code outside the version may have changed"


async def test_a_fall_after_a_run_without_a_version_is_no_regression_and_the_notes_say_what_differs(
    engine: Engine,
) -> None:
    await fleet(engine, 4)
    await save(engine, [answer(f"bare{n}", f"c{n}", "good") for n in range(4)])
    await bench(engine, "b")
    run = await measured(engine, "v1", first(1, 4))
    assert (run.is_regression, run.evidence) == (False, None)
    assert "not compared with run job1 because it used no version and this run uses v1" in run.notes
    assert (await measured(engine, "v1", first(1, 4), fresh=True)).notes == ""


async def test_a_fall_after_outputs_of_another_target_is_no_regression(engine: Engine) -> None:
    await fleet(engine, 4)
    await save(engine, [answer(f"bare{n}", f"c{n}", "good") for n in range(4)])
    await bench(engine, "b")
    await save(
        engine, [case(f"c{n}", inputs={"q": f"other {n}"}, expectedOutputs={"output": "good"}) for n in range(4)]
    )
    target = "python:tests.workshop:echoed"
    run = await benchmark_run(engine, await bench(engine, "b", target=target))
    assert not run.is_regression
    assert (
        f"not compared with run job1 because it used another target (recorded outputs) than this run ({target})"
        in run.notes
    )


async def test_a_target_that_is_named_and_makes_nothing_is_no_other_target(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(4, 4))
    await versions(engine, 1)
    await save(
        engine,
        [
            answer(f"again{n}", f"c{n}", "bad", promptVersionRef="v1", triggeredAt="2026-12-01T00:00:00Z")
            for n in range(3)
        ],
    )
    job = await bench(engine, "b", prompt_version_ref="v1", target="python:tests.workshop:echoed", recorded=True)
    assert (await benchmark_run(engine, job)).is_regression


async def test_a_run_without_a_threshold_neither_passes_nor_fails(engine: Engine) -> None:
    await fleet(engine, 2)
    assert (await measured(engine, "v1", first(1, 2))).passed is None
    assert not [one for one in await outbox(engine, "task") if "below" in one.record.title]


async def test_the_root_cause_groups_the_newly_failing_cases_by_tag_and_by_cause_the_commonest_first(
    engine: Engine,
) -> None:
    batch = rubric("r", 2, right=says("good"), kind=says("please"))
    tags: list[list[str]] = [["refund", "nl"], ["refund"], ["shipping"], []]
    cases = [case(f"c{n}", rubricId="r", tags=[*of]) for n, of in enumerate(tags)]
    await save(engine, batch, cases, benchmark("b", *(f"c{n}" for n in range(4))))
    said: list[Json] = [{"text": "good please"}, {"text": "good"}]
    for version, text in zip(("v1", "v2"), said, strict=True):
        await save(
            engine, [answer(f"{version}/c{n}", f"c{n}", str(text["text"]), promptVersionRef=version) for n in range(4)]
        )
        await bench(engine, "b", prompt_version_ref=version)
    failure = await regression_of(engine, "job2")
    assert failure.affected_criterion_ids == ("r/kind",)
    grouped = "by tag: refund (2 of 4), nl (1 of 4), shipping (1 of 4); by cause: wrong-output (4)"
    assert grouped in failure.root_cause


async def test_a_run_of_one_version_bears_it_though_none_was_asked_for_and_a_mixed_one_bears_none(
    engine: Engine,
) -> None:
    await fleet(engine, 2)
    await save(engine, [answer(f"a{n}", f"c{n}", "good", promptVersionRef="v1") for n in range(2)])
    assert (await benchmark_run(engine, await bench(engine, "b"))).prompt_version_ref == "v1"
    await save(engine, answer("newer", "c0", "good", promptVersionRef="v2", triggeredAt="2026-12-01T00:00:00Z"))
    mixed = (await found(engine, (await bench(engine, "b")).id, BenchmarkRun)).fields
    assert mixed.prompt_version_ref is None
    assert mixed.digests.prompt_version is not None


async def test_accepting_a_baseline_starts_the_history_of_the_case_anew(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "old"}))
    await save(engine, [answer(f"a{n}", "c", "old", triggeredAt=f"2026-11-21T09:0{n}:00Z") for n in range(4)])
    for n in range(4):
        assert (await judged_case(engine, "c", agent_run_id=f"a{n}")).fields.passed
    await update_expected_output(engine, "c", "new", by="anna")
    run = (await judged_case(engine, "c", agent_run_id="a3")).fields
    assert (run.passed, run.is_regression, run.flipped) == (False, False, False)


async def test_a_case_with_a_new_baseline_is_not_called_newly_failing(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(4, 4))
    for n in range(4):
        await update_expected_output(engine, f"c{n}", "other", by="anna")
    run = await benchmark_run(engine, await bench(engine, "b", prompt_version_ref="v1"))
    assert (run.passed_count, run.is_regression) == (0, False)
