"""The skill "run a benchmark": figures, regressions, what is told, and all of it in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.neighbours import AgentMessage, Task
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import BenchmarkRun, EvalFailure, EvalJudgment, EvalTrend, TestRun
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.engine.records.save_records import delete_record
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import (
    BadInputError,
    ConflictError,
    InstrumentError,
    InvalidRecordError,
    NotFoundError,
    StoppedError,
)
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.store import events, jobs, records
from tests.workshop import (
    CountedIds,
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    benchmark_run,
    by_rule,
    case,
    counts,
    first,
    fleet,
    found,
    measured,
    metrics,
    minion,
    outbox,
    rubric,
    save,
    says,
)

GOOD: Json = {"output": "good"}
FLOATS = rubric("r", 0, a=says("one", weight=0.1), b=says("two", weight=0.5), c=says("three", weight=0.2))
"""“one two” makes 0.6 of 0.8, which floats make a little less than three quarters."""


async def regressions(engine: Engine) -> list[Record[EvalFailure]]:
    """The eval-failures that stand for whole benchmark-runs."""
    return [one for one in await all_of(engine, EvalFailure) if one.id.endswith(":regression")]


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


async def test_the_benchmark_says_when_it_ran_last_and_how_it_scored(engine: Engine) -> None:
    await fleet(engine, 4)
    run = await measured(engine, "v1", first(3, 4))
    kept = (await found(engine, "b", Benchmark)).fields
    assert (kept.last_run_at, kept.last_score) == (run.ran_at, 0.75)


@pytest.mark.parametrize(("threshold", "passed"), [(0.75, True), (0.76, False)])
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
    assert "d (agent-run a2 is running" in run.notes
    assert "e (no recorded agent-run" in run.notes
    summary = await summarize(engine, job.id)
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


# Regressions


@pytest.mark.parametrize(
    ("before", "after", "size", "fell"),
    [(20, 18, 20, False), (20, 17, 20, True), (8, 7, 10, False), (8, 6, 10, True), (3, 0, 20, True), (5, 9, 10, False)],
)
async def test_a_fall_of_more_than_ten_points_is_a_critical_failure_and_exactly_ten_is_none(
    engine: Engine, before: int, after: int, size: int, fell: bool
) -> None:
    await fleet(engine, size)
    await measured(engine, "v1", first(before, size))
    run = await measured(engine, "v2", first(after, size))
    assert run.is_regression is fell
    found_ = await regressions(engine)
    assert [(one.fields.severity, one.fields.benchmark_run_id) for one in found_] == [("critical", "job2")] * fell


async def test_the_drop_that_counts_is_read_from_the_skill(engine: Engine) -> None:
    skill = engine.skills.run_benchmark
    rule = skill.parameters.model_copy(update={"drop_points": 3.0, "severity": "major", "task_title": "Look"})
    engine.skills = replace(engine.skills, run_benchmark=replace(skill, parameters=rule))
    await fleet(engine, 20)
    await measured(engine, "v1", first(20, 20))
    assert (await measured(engine, "v2", first(19, 20))).is_regression
    assert [one.title for one in await tasks(engine)] == ["Look"]


async def test_a_relative_drop_is_of_the_earlier_rate(engine: Engine) -> None:
    skill = engine.skills.run_benchmark
    rule = skill.parameters.model_copy(update={"relative": True})
    engine.skills = replace(engine.skills, run_benchmark=replace(skill, parameters=rule))
    await fleet(engine, 20)
    await measured(engine, "v1", first(10, 20))
    assert not (await measured(engine, "v2", first(9, 20))).is_regression, "exactly a tenth"
    assert (await measured(engine, "v3", first(8, 20))).is_regression, "a ninth, though only five points"


async def test_a_task_with_the_exact_title_is_asked_for(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    await measured(engine, "v2", first(5, 10))
    (task,) = await tasks(engine)
    assert task.title == "Investigate benchmark regression"
    assert (task.priority, task.status, task.created_by) == ("critical", "todo", "minions-evals")
    assert task.context_ref is not None
    assert (task.context_ref.type, task.context_ref.id) == ("benchmark-run", "job2")
    assert "10 of 10 to 5 of 10" in task.description


async def test_the_orchestrator_is_told_by_an_agent_message(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    await measured(engine, "v2", first(3, 10))
    (told,) = await outbox(engine, "agent-message")
    message = told.record.fields
    assert isinstance(message, AgentMessage)
    assert told.addressee == message.to_agent_id == "orchestrator"
    assert (message.type, message.status) == ("benchmark-regression", "pending")
    assert message.payload["benchmarkRunId"] == "job2"
    assert message.payload["previousRunId"] == "job1"
    assert message.payload["newlyFailing"] == [f"c{n}" for n in range(3, 10)]
    assert message.payload["evidence"] == "supported"


@pytest.mark.parametrize(
    ("before", "after", "evidence"),
    [
        (first(20, 20), first(14, 20), "supported"),
        (first(20, 20), first(15, 20), "undecidable"),
        ([True] * 12 + [False] * 8, [False] * 7 + [True] * 8 + [False] * 5, "within-noise"),
    ],
)
async def test_the_evidence_says_whether_the_fall_can_be_told_from_noise(
    engine: Engine, before: Sequence[bool], after: Sequence[bool], evidence: str
) -> None:
    await fleet(engine, 20)
    await measured(engine, "v1", before)
    run = await measured(engine, "v2", after)
    assert (run.is_regression, run.evidence) == (True, evidence)
    (failure,) = await regressions(engine)
    assert failure.fields.confidence == (1 if evidence == "supported" else 0.5)


async def test_the_critical_failure_points_at_the_largest_loss_and_has_the_commonest_type(engine: Engine) -> None:
    word = by_rule("[{type: icontains, value: good}, {type: icontains, value: ref}]")
    names = ["c0", "c1", "c2", "c3"]
    await save(engine, rubric("r", 0.9, word=word), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    await save(engine, [answer(f"v1-{name}", name, "good ref", promptVersionRef="v1") for name in names])
    replies = ["good only", "I'm sorry, but I cannot help with that.", "good too", "good ref"]
    await save(
        engine,
        [answer(f"v2-{name}", name, said, promptVersionRef="v2") for name, said in zip(names, replies, strict=True)],
    )
    await bench(engine, "b", prompt_version_ref="v1")
    await bench(engine, "b", prompt_version_ref="v2")
    (failure,) = await regressions(engine)
    assert failure.fields.test_run_id == "job2:2.1", "the refusal lost everything, the others a half"
    assert failure.fields.failure_type == "wrong-output"
    assert (await found(engine, "job2:2.1:failure", EvalFailure)).fields.failure_type == "refusal"


async def test_only_cases_in_both_runs_are_compared_where_the_set_changed(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    more = [case(f"c{n}", expectedOutputs=GOOD) for n in range(10, 20)]
    await save(engine, more, benchmark("b", *(f"c{n}" for n in range(20))))
    run = await measured(engine, "v2", first(10, 20))
    assert (run.is_regression, run.pass_rate) == (False, 50)
    run = await measured(engine, "v3", first(7, 20))
    assert run.is_regression
    await save(engine, benchmark("b", *(f"c{n}" for n in range(5, 20))))
    run = await measured(engine, "v4", first(6, 20))
    assert not run.is_regression, "on the cases in both, 2 of 15 became 1 of 15"
    assert run.total_count == 15


async def test_a_new_case_under_another_rubric_does_not_hide_a_regression_of_the_others(engine: Engine) -> None:
    names = [f"c{n}" for n in range(8)]
    await save(engine, rubric("r", 1, a=says("good")), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    await measured(engine, "v1", first(8, 8))
    await save(engine, rubric("s", 1, a=says("good")), case("c8", rubricId="s"), case("c9", expectedOutputs=GOOD))
    await save(engine, benchmark("b", *names, "c8", "c9"))
    run = await measured(engine, "v2", [*first(2, 8), True, True])
    assert run.is_regression
    assert "judge or rubric changed" not in run.notes
    assert "from 8 of 8 to 2 of 8" in (await regressions(engine))[0].fields.description


async def test_a_changed_rubric_is_noted_and_not_called_a_regression(engine: Engine) -> None:
    names = [f"c{n}" for n in range(8)]
    await save(engine, rubric("r", 1, a=says("good")), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    await measured(engine, "v1", first(8, 8))
    await save(engine, rubric("r", 1, a=says("excellent")))
    run = await measured(engine, "v2", first(8, 8))
    assert (run.passed_count, run.is_regression, run.evidence) == (0, False, None)
    assert "judge or rubric changed since job1: not compared with it" in run.notes
    assert not await outbox(engine)


async def test_a_changed_judge_is_noted_and_the_newest_run_judged_alike_is_compared_with(engine: Engine) -> None:
    names = [f"c{n}" for n in range(8)]
    await save(engine, rubric("r", 1, a=says("good")), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    await measured(engine, "v1", first(8, 8))
    await save(engine, [answer(f"v2/{name}", name, "good", promptVersionRef="v2") for name in names])
    job = await bench(engine, "b", prompt_version_ref="v2", judge="caller")
    await answered_all(engine, job.id, score=0)
    between = await benchmark_run(engine, job)
    assert (between.passed_count, between.is_regression) == (0, False)
    assert "judge or rubric changed since job1" in between.notes
    run = await measured(engine, "v3", first(2, 8))
    assert run.is_regression, "compared with the first, which was judged by rule as well"
    message = (await outbox(engine, "agent-message"))[0].record.fields
    assert isinstance(message, AgentMessage)
    assert message.payload["previousRunId"] == "job1"


async def answered_all(engine: Engine, run_id: str, *, score: float) -> None:
    """Judges every packet of a run alike."""
    summary = await summarize(engine, run_id)
    packets: list[JsonValue] = []
    for packet in summary.packets:
        given: list[JsonValue] = [
            {"criterionId": asked.criterion_id, "score": score, "rationale": "as read"} for asked in packet.criteria
        ]
        packets.append({"digest": packet.digest, "judgments": given})
    wire = {"runId": run_id, "judgedBy": "reader", "packets": packets}
    await submit_judgments(engine, Submission.model_validate(wire))


async def test_a_comparison_leaves_the_last_score_the_trend_and_the_history_alone(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    before = (await found(engine, "b", Benchmark), await found(engine, "trend:b", EvalTrend))
    compared = await measured(engine, "v2", first(2, 10), purpose="comparison")
    assert (compared.is_regression, compared.purpose, compared.passed_count) == (False, "comparison", 2)
    assert (await found(engine, "b", Benchmark), await found(engine, "trend:b", EvalTrend)) == before
    assert not await outbox(engine)
    run = await measured(engine, "v3", first(3, 10))
    assert run.is_regression, "its previous run is the first, not the comparison"
    assert [one.fields.signals for one in await regressions(engine)] == [
        tuple(f"newly failing: c{n}" for n in range(3, 10))
    ]


async def test_a_regression_is_told_in_the_transaction_that_records_the_run(engine: Engine) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    assert isinstance(engine.new_id, CountedIds)
    run_id = engine.new_id.following
    taken = minion(f"{run_id}:message", "task", title="in the way")
    await engine.store.write(lambda db: events.tell(db, taken, key="in-the-way", addressee="tests"))
    await save(engine, [answer(f"v2/c{n}", f"c{n}", "bad", promptVersionRef="v2") for n in range(10)])
    before = await counts(engine)
    trend, kept = await found(engine, "trend:b", EvalTrend), await found(engine, "b", Benchmark)
    with pytest.raises(ConflictError):
        await bench(engine, "b", prompt_version_ref="v2", key="k")
    after = await counts(engine)
    of_the_units = {"test_run": 10, "eval_failure": 10, "eval_judgment": 10, "unit": 10, "event": 20}
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == of_the_units
    assert (await found(engine, "trend:b", EvalTrend), await found(engine, "b", Benchmark)) == (trend, kept)
    assert await engine.store.read(lambda db: records.find(db, run_id)) is None
    assert (await summarize(engine, "k")).state != "completed"


async def test_nothing_waits_for_a_schedule_the_failure_task_and_message_stand_beside_the_run(
    engine: Engine,
) -> None:
    await fleet(engine, 10)
    await measured(engine, "v1", first(10, 10))
    await measured(engine, "v2", first(1, 10))
    sql = "SELECT type, subject_type FROM event WHERE at = (SELECT ran_at FROM benchmark_run WHERE id = 'job2')"
    facts = set(await engine.store.read(lambda db: db.execute(sql).fetchall()))
    told = {("queued", "task"), ("queued", "agent-message"), ("regression-found", "eval-failure")}
    assert facts >= {*told, ("benchmark-run-recorded", "benchmark-run")}


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


# What is measured beside the score, and by whom


async def test_each_criterion_and_named_metric_has_its_mean_as_an_eval_metric(engine: Engine) -> None:
    guide = "[{type: icontains, value: ref, metric: traceable}, {type: icontains, value: now}]"
    await save(engine, rubric("r", 1, relevance=says("good", maxScore=5), form=by_rule(guide)))
    asserted: JsonValue = [
        {"type": "contains", "value": "ref", "metric": "traceable", "weight": 3},
        {"type": "contains", "value": "x", "metric": "traceable"},
    ]
    cases = [case("c0", rubricId="r"), case("c1", rubricId="r"), case("c2", assertions=asserted)]
    runs = [answer("a0", "c0", "good ref"), answer("a1", "c1", "now"), answer("a2", "c2", "ref")]
    await save(engine, cases, runs, benchmark("b", "c0", "c1", "c2"))
    job = await bench(engine, "b")
    made = await metrics(engine, job)
    assert {name: (one.score, one.max_score) for name, one in made.items()} == {
        "relevance": (2.5, 5),
        "form": (0.5, 1),
        "traceable": (pytest.approx((1 + 0 + 0.75) / 3), 1),
    }
    assert made["relevance"].notes == "mean of 2"
    assert made["traceable"].notes == "mean of 3"


async def test_two_criteria_of_one_name_are_told_apart(engine: Engine) -> None:
    await save(engine, rubric("r", 1, tone=says("good")), rubric("s", 1, tone=says("bad")))
    cases = [case("c0", rubricId="r"), case("c1", rubricId="s")]
    await save(engine, cases, answer("a0", "c0", "good"), answer("a1", "c1", "good"), benchmark("b", "c0", "c1"))
    made = await metrics(engine, await bench(engine, "b"))
    assert {name: one.score for name, one in made.items()} == {"r/tone": 1, "s/tone": 0}


async def test_a_run_says_who_triggered_it_and_a_judgment_who_judged_it(engine: Engine) -> None:
    await fleet(engine, 2)
    run = await measured(engine, "v1", first(1, 2), triggered_by="schedule:nightly")
    assert run.triggered_by == "schedule:nightly"
    assert all(one.fields.judged_by for one in await all_of(engine, EvalJudgment))
    for blank in ("", "  "):
        with pytest.raises(ValidationError, match="triggeredBy"):
            RunRequest.model_validate({"subject_id": "b", "triggeredBy": blank})
        with pytest.raises(ValidationError, match="judgedBy"):
            Submission.model_validate({"runId": "r", "judgedBy": blank, "packets": [{"digest": "d", "judgments": []}]})
    said = run.model_dump(by_alias=True)
    del said["triggeredBy"]
    with pytest.raises(ValidationError, match="triggeredBy"):
        BenchmarkRun.model_validate(said)
    judged = (await all_of(engine, EvalJudgment))[0].fields.model_dump(by_alias=True)
    del judged["judgedBy"]
    with pytest.raises(ValidationError, match="judgedBy"):
        EvalJudgment.model_validate(judged)


async def test_a_skills_quality_gates_are_measured_by_the_newest_run_of_each(engine: Engine) -> None:
    await fleet(engine, 4)
    await save(engine, benchmark("never", "c0"))
    gates: JsonValue = [
        {"benchmarkId": "b", "minScore": 0.75},
        {"benchmarkId": "b", "minScore": 0.76},
        {"benchmarkId": "never", "minScore": 0.0},
    ]
    await save(engine, minion("skill", "skill-definition", name="skill", qualityGates=gates))
    await measured(engine, "v1", first(4, 4))
    await measured(engine, "v2", first(3, 4))
    skill = await engine.store.read(lambda db: records.minion(db, "skill"))
    assert skill is not None
    told = [gate.wire() for gate in await engine.store.read(lambda db: records.gates(db, skill))]
    assert [(one["benchmarkId"], one["score"], one["runId"], one["holds"]) for one in told] == [
        ("b", 0.75, "job2", True),
        ("b", 0.75, "job2", False),
        ("never", None, None, False),
    ]


async def test_a_gate_holds_at_its_score_whatever_floats_do(engine: Engine) -> None:
    await save(engine, FLOATS, case("c", rubricId="r"), benchmark("b", "c"), answer("a", "c", "one two"))
    gate: JsonValue = [{"benchmarkId": "b", "minScore": 0.75}]
    await save(engine, minion("skill", "skill-definition", name="skill", qualityGates=gate))
    assert (await benchmark_run(engine, await bench(engine, "b"))).overall_score < 0.75
    skill = await engine.store.read(lambda db: records.minion(db, "skill"))
    assert skill is not None
    assert [one.wire()["holds"] for one in await engine.store.read(lambda db: records.gates(db, skill))] == [True]


async def test_a_proposals_scores_become_criterion_scores(engine: Engine) -> None:
    await save(
        engine, rubric("r", 3, relevance=by_rule("fromProposal: relevance", maxScore=5)), case("c", rubricId="r")
    )
    draft = minion("p", "proposal-draft", title="p", scores={"relevance": 4, "style": 1}, agentRunId="a")
    await save(engine, answer("a", "c", "a proposal"), draft, benchmark("b", "c"))
    job = await bench(engine, "b")
    (judged,) = [one.fields for one in await all_of(engine, EvalJudgment)]
    assert (judged.criterion_id, judged.score, judged.judged_by_type) == ("r/relevance", 4, "heuristic")
    assert judged.rationale.startswith("score given by")
    assert (await metrics(engine, job))["relevance"].score == 4


@pytest.mark.parametrize("judge_type", ["llm", "human"])
@pytest.mark.parametrize("judge", ["auto", "caller"])
async def test_a_proposals_score_is_taken_over_whatever_the_judge_type(
    engine: Engine, judge_type: str, judge: str
) -> None:
    guide: Json = {"scoringGuide": "fromProposal: relevance", "judgeType": judge_type, "maxScore": 5}
    await save(engine, rubric("r", 3, relevance=guide), case("c", rubricId="r"))
    draft = minion("p", "proposal-draft", title="p", scores={"relevance": 4}, agentRunId="a")
    await save(engine, answer("a", "c", "a proposal"), draft, benchmark("b", "c"))
    assert (await bench(engine, "b", judge=judge)).state == "completed"
    (judged,) = [one.fields for one in await all_of(engine, EvalJudgment)]
    assert (judged.score, judged.judged_by_type) == (4, "heuristic")


async def test_a_guide_that_names_no_score_of_the_proposal_is_refused_when_it_is_saved(engine: Engine) -> None:
    guide: Json = {"scoringGuide": "fromProposal: [relevance]", "judgeType": "llm"}
    with pytest.raises(InvalidRecordError, match="scoringGuide"):
        await save(engine, rubric("r", 1, relevance=guide))


@pytest.mark.parametrize("scores", [{}, {"relevance": 7}])
async def test_a_proposal_without_a_fitting_score_is_an_error_not_a_zero(engine: Engine, scores: Json) -> None:
    await save(
        engine, rubric("r", 3, relevance=by_rule("fromProposal: relevance", maxScore=5)), case("c", rubricId="r")
    )
    draft = minion("p", "proposal-draft", title="p", scores=scores, agentRunId="a")
    await save(engine, answer("a", "c", "a proposal"), draft, benchmark("b", "c"))
    with pytest.raises(InstrumentError, match="relevance"):
        await bench(engine, "b")
    assert not await all_of(engine, TestRun)


@pytest.mark.parametrize("threshold", [0.0, 0.75])
async def test_the_task_names_what_dropped(engine: Engine, threshold: float) -> None:
    parts = rubric(
        "r", 3,
        relevance=by_rule("fromProposal: relevance", weight=0.5, maxScore=5),
        style=by_rule("fromProposal: style", weight=0.5, maxScore=5),
    )  # fmt: skip
    names = [f"c{n}" for n in range(4)]
    await save(engine, parts, [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names, passingThreshold=threshold))
    # Where a threshold is set, nothing fails, but the score falls below it.
    for version, relevance in (("v1", 5.0), ("v2", 3.0 if threshold else 1.0)):
        for name in names:
            draft = {"relevance": relevance, "style": 4.5 if version == "v1" else 4.0}
            run = answer(f"{version}/{name}", name, "proposal", promptVersionRef=version)
            await save(engine, run)
            await save(
                engine, minion(f"{version}/{name}/p", "proposal-draft", title="p", scores={**draft}, agentRunId=run.id)
            )
        await bench(engine, "b", prompt_version_ref=version)
    (task,) = await tasks(engine)
    assert f"relevance fell from 5.00 to {'3.00' if threshold else '1.00'}" in task.description
    assert task.title == ("Investigate b: 0.70 below 0.75" if threshold else "Investigate benchmark regression")


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
