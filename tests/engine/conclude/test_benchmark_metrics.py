"""What a benchmark run measures beside its score, and by whom: criteria, named metrics, a skill's gates, a proposal's scores."""

from __future__ import annotations

import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.results import BenchmarkRun, EvalJudgment, EvalMetric, TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.errors import (
    InstrumentError,
    InvalidRecordError,
)
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.store import records
from tests.engine.run.test_run_benchmark import FLOATS, tasks
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    benchmark_run,
    by_rule,
    case,
    first,
    fleet,
    measured,
    metrics,
    minion,
    rubric,
    save,
    says,
)


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
    assert [one.id for one in await all_of(engine, EvalMetric)] == [f"{job.id}:m{number}" for number in (1, 2, 3)]
    assert made["relevance"].notes == "mean of 2"
    assert made["traceable"].notes == "mean of 3"


async def test_the_pass_rate_stands_in_percent_with_both_ends_of_its_interval(engine: Engine) -> None:
    await fleet(engine, 4)
    run = await measured(engine, "v1", first(3, 4))
    assert (run.pass_rate, run.passed_count, run.total_count) == (75, 3, 4)
    assert run.pass_rate_ci == pytest.approx((19.41, 99.37), abs=0.01)  # Clopper and Pearson's
    assert run.score_ci is not None
    assert 0 <= run.score_ci[0] < 0.75 < run.score_ci[1] <= 1


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
    assert f"relevance dropped from 5.00 to {'3.00' if threshold else '1.00'}" in task.description
    assert task.title == ("Investigate b: 0.70 below 0.75" if threshold else "Investigate benchmark regression")
