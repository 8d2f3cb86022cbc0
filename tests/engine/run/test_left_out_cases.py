"""Cases that a run left out: each is measured against the last run that judged it."""

from __future__ import annotations

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.engine.answers.gates import regression_gate
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import get_record
from tests.workshop import case, fleet, measured, save

LEFT_OUT = [True]
"""The second case has no output."""


async def test_a_case_that_the_run_before_left_out_is_compared_with_the_run_that_judged_it_last(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", [True, True])
    assert not (await measured(engine, "v2", LEFT_OUT)).is_regression
    assert (await measured(engine, "v3", [True, False])).is_regression
    summary = await summarize(engine, "job3")
    assert summary.regression is not None
    assert (summary.regression["worse"], summary.regression["newlyFailing"]) == (1, ["c1"])
    (cause,) = summary.causes
    assert cause.new == 1


async def test_new_failures_are_told_beside_older_ones_of_the_same_cause_and_named_first(engine: Engine) -> None:
    await fleet(engine, 3)
    await measured(engine, "v1", [False, True, True])
    await measured(engine, "v2", [False, True, False])
    (cause,) = (await summarize(engine, "job2")).causes
    assert cause.summary.startswith("1 of 1 newly failing case (and 1 older): ")
    assert [case.test_case_id for case in cause.affected] == ["c2", "c0"]


async def test_a_fall_stays_one_through_a_run_that_left_the_fallen_case_out(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", [True, True])
    await measured(engine, "v2", [True, False])
    assert (await measured(engine, "v3", LEFT_OUT)).fallen_since == "job1"
    assert (await measured(engine, "v4", [True, False])).fallen_since == "job1"
    summaries = [await summarize(engine, f"job{number}") for number in (3, 4)]
    assert [regression_gate(summary) for summary in summaries] == ["undecided", "undecided"]
    assert [summary.regression and summary.regression["newlyFailing"] for summary in summaries] == [["c1"], ["c1"]]
    assert (await measured(engine, "v5", [True, True])).fallen_since is None


async def test_a_case_that_was_edited_while_it_was_left_out_begins_anew(engine: Engine) -> None:
    await fleet(engine, 2)
    await measured(engine, "v1", [True, True])
    await measured(engine, "v2", LEFT_OUT)
    await save(engine, case("c1", expectedOutputs={"output": "better"}))
    assert not (await measured(engine, "v3", [True, False])).is_regression


async def test_a_run_is_no_edit_of_its_benchmark(engine: Engine) -> None:
    await fleet(engine, 1)
    edited = (await get_record(engine, "b")).updated_at
    await measured(engine, "v1", [True])
    kept = await get_record(engine, "b")
    assert isinstance(kept.fields, Benchmark)
    assert (kept.updated_at, kept.fields.last_score) == (edited, 1)
