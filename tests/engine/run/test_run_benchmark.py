"""The skill "run a benchmark": its figures, what falls below a threshold, and all of it in one transaction."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.neighbours import Task
from minions_evals_mcp.domain.results import BenchmarkRun, TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import delete_record
from minions_evals_mcp.errors import (
    BadInputError,
    InstrumentError,
    NotFoundError,
    StoppedError,
)
from minions_evals_mcp.scoring.rubric import TOLERANCE
from minions_evals_mcp.store import events, jobs
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    benchmark_run,
    case,
    first,
    fleet,
    found,
    measured,
    minion,
    outbox,
    rubric,
    save,
    says,
)

GOOD: Json = {"output": "good"}
FLOATS = rubric("r", 0, a=says("one", weight=0.1), b=says("two", weight=0.5), c=says("three", weight=0.2))
"""“one two” makes 0.6 of 0.8, which floats make a little less than three quarters."""


async def tasks(engine: Engine) -> list[Task]:
    """The tasks that are asked for."""
    queued = [one.record.fields for one in await outbox(engine, "task")]
    return [one for one in queued if isinstance(one, Task)]


# The figures


async def test_every_case_of_the_benchmark_is_run(engine: Engine) -> None:
    await fleet(engine, 7)
    await measured(engine, "v1", first(4, 7))
    assert {one.fields.test_case_id for one in await all_of(engine, TestRun)} == {f"c{n}" for n in range(7)}


async def test_the_test_runs_are_aggregated_to_one_benchmark_run_that_names_them(engine: Engine) -> None:
    await fleet(engine, 3)
    run = await measured(engine, "v1", first(2, 3))
    assert run.test_run_ids == ("job1:1.1", "job1:2.1", "job1:3.1")
    assert {one.fields.benchmark_run_id for one in await all_of(engine, TestRun)} == {"job1"}
    assert len(await all_of(engine, BenchmarkRun)) == 1


async def test_the_overall_score_is_of_the_sums_and_the_pass_rate_in_percent(engine: Engine) -> None:
    await save(
        engine,
        [case("light", expectedOutputs=GOOD), case("heavy", expectedOutputs=GOOD, maxScore=3)],
        [answer("a1", "light", "good"), answer("a2", "heavy", "bad")],
        benchmark("b", "light", "heavy"),
    )
    run = await benchmark_run(engine, await bench(engine, "b"))
    assert run.overall_score == pytest.approx(1 / 4), "not the mean of the cases' shares, which is 1/2"
    assert (run.pass_rate, run.passed_count, run.total_count, run.error_count) == (50, 1, 2, 0)


async def test_scores_below_zero_make_an_overall_score_of_zero(engine: Engine) -> None:
    await save(engine, rubric("r", 0.5, a=says("good", minScore=-1)), case("c", rubricId="r"), answer("a1", "c", "bad"))
    await save(engine, benchmark("b", "c"))
    run = await benchmark_run(engine, await bench(engine, "b"))
    assert [one.fields.total_score for one in await all_of(engine, TestRun)] == [-1]
    assert run.overall_score == 0


async def test_the_benchmark_says_when_it_ran_last_and_how_it_scored(engine: Engine) -> None:
    await fleet(engine, 4)
    run = await measured(engine, "v1", first(3, 4))
    kept = (await found(engine, "b", Benchmark)).fields
    assert (kept.last_run_at, kept.last_score) == (run.ran_at, 0.75)


@pytest.mark.parametrize(("threshold", "passed"), [(0.75, True), (0.75 + TOLERANCE, True), (0.76, False)])
async def test_a_benchmark_run_passes_at_its_threshold(engine: Engine, threshold: float, passed: bool) -> None:
    await fleet(engine, 4, passingThreshold=threshold)
    assert (await measured(engine, "v1", first(3, 4))).passed is passed


async def test_with_trials_the_counts_are_of_test_runs(engine: Engine) -> None:
    await save(engine, [case("c", expectedOutputs=GOOD), case("d", expectedOutputs=GOOD)], benchmark("b", "c", "d"))
    await save(engine, [answer(f"a{name}{n}", name, "good" if n else "bad") for name in "cd" for n in range(3)])
    run = await benchmark_run(engine, await bench(engine, "b", trials=3))
    assert (run.trials, run.passed_count, run.total_count) == (3, 4, 6)
    assert run.pass_rate == pytest.approx(100 * 4 / 6)
    made = sorted((one.fields.test_case_id, one.fields.trial) for one in await all_of(engine, TestRun))
    assert made == [(name, trial) for name in "cd" for trial in (1, 2, 3)]


async def test_only_active_cases_run_and_the_others_are_named_in_the_notes(engine: Engine) -> None:
    names = ["on", "draft", "old", "gone"]
    states: list[Json] = [{}, {"status": "draft"}, {"status": "deprecated"}, {}]
    cases = [case(name, expectedOutputs=GOOD, **state) for name, state in zip(names, states, strict=True)]
    await save(engine, cases, [answer(f"a-{name}", name, "good") for name in names], benchmark("b", *names))
    await delete_record(engine, "gone")
    run = await benchmark_run(engine, await bench(engine, "b"))
    assert run.total_count == 1
    assert run.notes == "skipped: draft (draft), old (deprecated), gone (deleted)"


async def test_a_case_without_an_output_is_skipped_counted_apart_and_named(engine: Engine) -> None:
    names = ["c", "d", "e"]
    await save(engine, [case(name, expectedOutputs=GOOD) for name in names], benchmark("b", *names))
    await save(engine, answer("a1", "c", "good"), answer("a2", "d", "bad", status="running"))
    job = await bench(engine, "b")
    run = await benchmark_run(engine, job)
    assert (run.passed_count, run.total_count, run.error_count, run.pass_rate) == (1, 1, 0, 100)
    assert run.notes == "2 could not be run"  # which and why stands in the list of what has no verdict, once
    summary = await summarize(engine, job.id)
    listed = {line.test_case_id: line.reason for line in summary.unscored}
    assert listed["d"].startswith("agent-run a2 is running")
    assert listed["e"].startswith("no recorded agent-run")
    assert summary.outcomes == {"scored": 1, "skipped": 2}
    assert summary.bounds is not None
    assert (summary.bounds.worst, summary.bounds.best) == (pytest.approx(100 / 3), 100)


async def test_errors_are_counted_apart_from_failures_and_bound_the_pass_rate(engine: Engine) -> None:
    await fleet(engine, 3)
    await save(
        engine,
        answer("a1", "c0", "good"),
        answer("a2", "c1", "bad"),
        answer("a3", "c2", {}, status="failed", errorMessage="HTTP 503 from the provider"),
    )
    job = await bench(engine, "b")
    run = await benchmark_run(engine, job)
    assert (run.passed_count, run.total_count, run.error_count, run.pass_rate) == (1, 2, 1, 50)
    assert run.overall_score == 0.5
    assert "1 could not be scored" in run.notes
    bounds = (await summarize(engine, job.id)).bounds
    assert bounds is not None
    assert (bounds.worst, bounds.best) == (pytest.approx(100 / 3), pytest.approx(200 / 3))


async def test_a_timed_out_run_counts_as_failed(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD, timeoutMs=10), benchmark("b", "c"))
    times: Json = {"triggeredAt": "2026-11-20T09:00:00Z", "completedAt": "2026-11-20T09:00:05Z"}
    await save(engine, answer("a", "c", "good", **times))
    run = await benchmark_run(engine, await bench(engine, "b"))
    assert (run.passed_count, run.total_count, run.error_count) == (0, 1, 0)


async def test_a_benchmark_that_cannot_be_run_is_refused_by_name(engine: Engine) -> None:
    await fleet(engine, 2)
    await save(engine, benchmark("retired", "c0", status="retired"))
    await save(engine, case("d", expectedOutputs=GOOD, status="draft"), benchmark("idle", "d"))
    with pytest.raises(NotFoundError, match="'nowhere'"):
        await bench(engine, "nowhere")
    with pytest.raises(NotFoundError, match="'c0'"):
        await bench(engine, "c0")
    with pytest.raises(BadInputError, match="retired is retired"):
        await bench(engine, "retired")
    with pytest.raises(BadInputError, match=r"no active test case.*d \(draft\)"):
        await bench(engine, "idle")
    await delete_record(engine, "b")
    with pytest.raises(NotFoundError, match="'b'"):
        await bench(engine, "b")


async def test_where_nothing_could_be_scored_no_benchmark_run_is_made(engine: Engine) -> None:
    await fleet(engine, 2)
    await save(engine, answer("a", "c0", {}, status="failed", errorMessage="HTTP 503"))
    with pytest.raises(InstrumentError, match="HTTP 503"):
        await bench(engine, "b", key="k")
    assert (await summarize(engine, "k")).state == "failed"
    assert not await all_of(engine, BenchmarkRun)


# Below the threshold


async def test_a_run_below_its_threshold_asks_for_one_task_until_it_passes_again(engine: Engine) -> None:
    await fleet(engine, 20, passingThreshold=0.95)
    await measured(engine, "v1", first(18, 20))
    await measured(engine, "v2", first(18, 20))
    assert [one.title for one in await tasks(engine)] == ["Investigate b: 0.90 below 0.95"]
    await measured(engine, "v3", first(19, 20))
    await measured(engine, "v4", first(17, 20))
    await measured(engine, "v5", first(18, 20))
    assert [one.title for one in await tasks(engine)] == [
        "Investigate b: 0.90 below 0.95",
        "Investigate b: 0.85 below 0.95",
    ]


async def test_a_run_that_passes_by_the_tolerance_ends_the_spell_below_the_threshold(engine: Engine) -> None:
    await save(engine, FLOATS, case("c", rubricId="r"), benchmark("b", "c", passingThreshold=0.75))
    said = {"v1": "one", "v2": "one two", "v3": "one"}
    await save(engine, [answer(ident, "c", text, promptVersionRef=ident) for ident, text in said.items()])
    passed = [(await benchmark_run(engine, await bench(engine, "b", prompt_version_ref=one))) for one in said]
    assert [one.passed for one in passed] == [False, True, False]
    assert passed[1].overall_score < 0.75, "else this test shows nothing"
    assert len(await tasks(engine)) == 2


async def test_a_regression_below_the_threshold_asks_for_its_own_task_only(engine: Engine) -> None:
    await fleet(engine, 10, passingThreshold=0.9)
    await measured(engine, "v1", first(10, 10))
    await measured(engine, "v2", first(5, 10))
    assert [one.title for one in await tasks(engine)] == ["Investigate benchmark regression"]


# The system observes


async def test_a_run_changes_no_neighbours_record_and_starts_nothing_there(engine: Engine) -> None:
    version = minion("v1", "prompt-version", content="Say {{q}}", versionNumber=1)
    draft = minion("p", "proposal-draft", title="p", agentRunId="v1/c0")
    skill = minion("skill", "skill-definition", name="skill", promptRef="v1")
    await fleet(engine, 8)
    await save(engine, version, skill, draft)
    await measured(engine, "v1", first(8, 8))
    before = await engine.store.read(neighbours)
    await save(engine, [answer(f"v2/c{n}", f"c{n}", "bad", promptVersionRef="v2") for n in range(8)])
    await bench(engine, "b", prompt_version_ref="v2")
    after = await engine.store.read(neighbours)
    assert {ident: row for ident, row in after.items() if ident in before} == before
    assert set(after) - set(before) == {f"v2/c{n}" for n in range(8)}
    queued = await outbox(engine)
    assert {one.record.type for one in queued} == {"task", "agent-message"}, "asked for, not made"


def neighbours(db: events.Db) -> dict[str, tuple[object, ...]]:
    """The whole rows of all that belongs to other toolboxes."""
    kinds = "('agent-run', 'prompt-version', 'skill-definition', 'proposal-draft', 'task', 'agent-message')"
    rows = db.execute(f"SELECT id, fields, title, digest, updated_at FROM minion WHERE type IN {kinds}").fetchall()
    return {row[0]: row for row in rows}


async def test_every_prompt_version_and_agent_has_its_own_figures(engine: Engine) -> None:
    await fleet(engine, 10)
    for version, passing in (("v1", 6), ("v2", 9)):
        await measured(engine, version, first(passing, 10))
    by_version = {one.fields.prompt_version_ref: one.fields.pass_rate for one in await all_of(engine, BenchmarkRun)}
    assert by_version == {"v1": 60, "v2": 90}
    of_agent = [one.fields for one in await all_of(engine, TestRun) if one.fields.produced_by == "agent"]
    assert len(of_agent) == 20
    assert sum(one.passed for one in of_agent) == 15


async def test_the_time_cap_holds_for_targets_that_are_no_models(engine: Engine) -> None:
    await fleet(engine, 40)
    with pytest.raises(StoppedError, match=r"the time cap of 0\.001 s is reached"):
        await bench(engine, "b", target="python:tests.workshop:echoed", max_seconds=0.001, key="k")
    (job,) = await engine.store.read(jobs.jobs)
    counts = await engine.store.read(lambda db: jobs.unit_counts(db, job.id))
    assert 0 < sum(counts.values()) < 40
    assert (await bench(engine, "b", target="python:tests.workshop:echoed", key="k")).state == "completed"
