"""A benchmark that got worse: what counts as a regression, what is compared, and what is told in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark
from minions_evals_mcp.domain.neighbours import AgentMessage
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import EvalFailure, EvalTrend
from minions_evals_mcp.engine.answers.run_summary import summarize
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.people.submit import submit_judgments
from minions_evals_mcp.errors import (
    ConflictError,
)
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.store import events, records
from tests.engine.run.test_run_benchmark import GOOD, tasks
from tests.workshop import (
    CountedIds,
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
    minion,
    outbox,
    rubric,
    save,
    says,
)


async def regressions(engine: Engine) -> list[Record[EvalFailure]]:
    """The eval-failures that stand for whole benchmark-runs."""
    return [one for one in await all_of(engine, EvalFailure) if one.id.endswith(":regression")]


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
    (task,) = await tasks(engine)
    assert (task.title, "; 1 case got worse, 0 better." in str(task.description)) == ("Look", True)


async def test_a_relative_drop_is_of_the_earlier_rate(engine: Engine) -> None:
    skill = engine.skills.run_benchmark
    rule = skill.parameters.model_copy(update={"relative": True})
    engine.skills = replace(engine.skills, run_benchmark=replace(skill, parameters=rule))
    await fleet(engine, 20)
    await measured(engine, "v1", first(10, 20))
    assert not (await measured(engine, "v2", first(9, 20))).is_regression, "exactly a tenth"
    assert (await measured(engine, "v3", first(8, 20))).is_regression, "a ninth, though only five points"


async def test_a_task_with_the_exact_title_is_asked_for_of_the_benchmarks_owner(engine: Engine) -> None:
    await fleet(engine, 10, ownerId="anna")
    await measured(engine, "v1", first(10, 10))
    await measured(engine, "v2", first(5, 10))
    (task,) = await tasks(engine)
    assert task.title == "Investigate benchmark regression"
    assert (task.priority, task.status, task.created_by) == ("critical", "todo", "minions-evals")
    assert task.assignee_id == "anna"
    assert task.context_ref is not None
    assert (task.context_ref.type, task.context_ref.id) == ("benchmark-run", "job2")
    assert "10 of 10 to 5 of 10 (too few cases changed to test); 5 cases got worse, 0 better." in task.description


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


@pytest.mark.parametrize(
    ("replies", "fell"), [(("good ref", "none"), ""), (("good", "none"), "word dropped from 0.50 to 0.25")]
)
async def test_a_criterion_is_named_where_its_mean_fell_and_none_where_only_passes_did(
    engine: Engine, replies: tuple[str, str], fell: str
) -> None:
    word = by_rule("[{type: icontains, value: good}, {type: icontains, value: ref}]")
    await save(engine, rubric("r", 0.5, word=word), case("c0", rubricId="r"), case("c1", rubricId="r"))
    await save(engine, benchmark("b", "c0", "c1"))
    for version, texts in (("v1", ("good", "good")), ("v2", replies)):
        await save(
            engine, [answer(f"{version}/{n}", f"c{n}", text, promptVersionRef=version) for n, text in enumerate(texts)]
        )
        await bench(engine, "b", prompt_version_ref=version)
    (task,) = await tasks(engine)
    assert ("dropped from 0" in task.description, fell in task.description) == (bool(fell), True)


async def test_a_regression_of_chosen_cases_says_that_only_these_were_run(engine: Engine) -> None:
    await fleet(engine, 4)
    await measured(engine, "v1", first(4, 4))
    await measured(engine, "v2", first(0, 4), case_ids=["c0", "c1"], selection="two by name")
    await measured(engine, "v3", first(0, 4))
    chosen, whole = [one.fields.description for one in await regressions(engine)]
    assert "Only these cases were run: two by name." in chosen
    assert "Only these cases" not in whole


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
    assert "the judge or the rubric changed" not in run.notes
    assert "from 8 of 8 to 2 of 8" in (await regressions(engine))[0].fields.description


async def test_a_changed_rubric_is_noted_and_not_called_a_regression(engine: Engine) -> None:
    names = [f"c{n}" for n in range(8)]
    await save(engine, rubric("r", 1, a=says("good")), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    await measured(engine, "v1", first(8, 8))
    await save(engine, rubric("r", 1, a=says("excellent")))
    run = await measured(engine, "v2", first(8, 8))
    assert (run.passed_count, run.is_regression, run.evidence) == (0, False, None)
    assert "not compared with run job1 because the judge or the rubric changed" in run.notes
    assert not await outbox(engine)


async def test_a_changed_judge_is_noted_and_the_newest_run_judged_alike_is_compared_with(engine: Engine) -> None:
    names = [f"c{n}" for n in range(8)]
    await save(engine, rubric("r", 1, a=says("good")), [case(name, rubricId="r") for name in names])
    await save(engine, benchmark("b", *names))
    await measured(engine, "v1", first(8, 8))
    await save(engine, [answer(f"v2/{name}", name, "good", promptVersionRef="v2") for name in names])
    await save(engine, rubric("r", 1, a={"judgeType": "llm"}))
    job = await bench(engine, "b", prompt_version_ref="v2", judge="caller")
    await answered_all(engine, job.id, score=0)
    await save(engine, rubric("r", 1, a=says("good")))
    between = await benchmark_run(engine, job)
    assert (between.passed_count, between.is_regression) == (0, False)
    assert "with run job1 because the judge or the rubric changed" in between.notes
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
            {"criterionId": asked.criterion_id, "score": score, "rationale": "as it reads"} for asked in packet.criteria
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


async def test_more_outputs_of_a_case_that_failed_before_are_no_regression(engine: Engine) -> None:
    await fleet(engine, 2)
    await save(engine, answer("a0", "c0", "good"), answer("a1", "c1", "bad"))
    await bench(engine, "b")
    await save(engine, answer("a2", "c1", "bad"), answer("a3", "c1", "bad"))
    run = await benchmark_run(engine, await bench(engine, "b", trials=3))
    assert (run.passed_count, run.total_count) == (1, 4)
    assert not await regressions(engine)


async def test_a_case_that_fails_since_its_check_was_edited_is_named_and_is_no_regression(engine: Engine) -> None:
    await fleet(engine, 8)
    await measured(engine, "v1", first(8, 8))
    await save(engine, case("c0", expectedOutputs={"output": "great"}))
    run = await measured(engine, "v2", first(8, 8))
    assert (run.passed_count, run.is_regression) == (7, False)
    assert "c0 fails after an edit, which is not a regression" in run.notes
    assert not await regressions(engine)
    await save(engine, case("c1", expectedOutputs={"output": "great"}))
    run = await measured(engine, "v3", first(4, 8))
    assert run.is_regression, "of the six cases that nobody edited some fell"
    (found_,) = await regressions(engine)
    assert "passes dropped from 6 of 7 to 2 of 7" in found_.fields.description
    assert "newly failing: c1" not in found_.fields.signals


async def test_a_run_of_which_every_case_was_edited_is_compared_with_none_and_says_so(engine: Engine) -> None:
    await fleet(engine, 4)
    before = await measured(engine, "v1", first(4, 4))
    assert "not compared" not in before.notes
    for version, wanted, compared in (("v2", "great", "job1"), ("v3", "fine", "job2"), ("v4", "good", "job3")):
        await save(engine, *(case(f"c{number}", expectedOutputs={"output": wanted}) for number in range(4)))
        run = await measured(engine, version, first(4, 4))
        assert f"not compared with run {compared} because every shared case or its checks were edited" in run.notes
        assert not run.is_regression
