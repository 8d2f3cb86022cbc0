"""Judging from outside: packets for the caller or a person, and verdicts for exactly those packets."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue, ValidationError

from minions_evals_mcp.domain.neighbours import ApprovalRequest
from minions_evals_mcp.domain.outcomes import UnitKey
from minions_evals_mcp.domain.results import BenchmarkRun, EvalJudgment, Outcome, TestRun
from minions_evals_mcp.domain.speaker import person
from minions_evals_mcp.engine.answers.run_summary import RunSummary, summarize
from minions_evals_mcp.engine.cases.baselines import save_with_baselines
from minions_evals_mcp.engine.cases.test_history import test_case_stats as figures_of_case
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.jobs import get_job
from minions_evals_mcp.engine.people.persons import confirm_person
from minions_evals_mcp.engine.people.submit import judge_waiting, submit_judgments
from minions_evals_mcp.engine.records.batch import Arrival
from minions_evals_mcp.engine.request import RunRequest
from minions_evals_mcp.engine.run.run_benchmark import run_benchmark
from minions_evals_mcp.errors import (
    BadInputError,
    ConflictError,
    EvalsError,
    InvalidRecordError,
    NotFoundError,
    RuleError,
)
from minions_evals_mcp.judges.packets import Submission
from minions_evals_mcp.store.jobs import Job
from tests.shared.fakes.llm_server import serving
from tests.shared.presentation.typed import typed
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    case,
    config_in,
    counts,
    failure_of,
    found,
    judgments,
    minion,
    opened,
    outbox,
    rubric,
    save,
    says,
    try_case,
)

TWO: dict[str, Json] = {
    "tone": {"weight": 0.4, "description": "Is it kind?"},
    "facts": {"weight": 0.6, "description": "Is it right?", "maxScore": 5},
}
"""Criteria that the caller judges where no model is set up."""
BRISK: Json = {"weight": 0.4, "description": "Is it brisk?"}
LIGHTER: Json = {"weight": 0.3, "description": "Is it kind?"}


async def waiting(engine: Engine, size: int = 1, **request: JsonValue) -> Job:
    """A run of `b` whose outputs wait for their judgments."""
    names = [f"c{n}" for n in range(size)]
    await save(engine, rubric("r", 2, **TWO), [case(name, rubricId="r") for name in names], benchmark("b", *names))
    await save(engine, [answer(f"a{n}", name, f"Output of {name}.") for n, name in enumerate(names)])
    return await bench(engine, "b", **request)


async def packets(engine: Engine, run_id: str) -> list[Json]:
    """The packets that the run hands out."""
    return dicts(await summarize(engine, run_id))


def answered(packet: Json, *scores: float, why: str = "I read it.") -> Json:
    """The packet with those scores for its criteria, in their order."""
    asked = [one["criterionId"] for one in as_list(packet["criteria"]) if isinstance(one, dict)]
    given: list[JsonValue] = [
        {"criterionId": ident, "score": score, "rationale": why} for ident, score in zip(asked, scores, strict=True)
    ]
    return {"digest": packet["digest"], "judgments": given}


def as_list(value: JsonValue) -> list[JsonValue]:
    """The value, which is a list."""
    assert isinstance(value, list)
    return value


async def submit(engine: Engine, run_id: str, *given: Json, judged_by: str = "caller-agent") -> Job:
    """Hands the answers in."""
    wire = {"runId": run_id, "judgedBy": judged_by, "packets": list(given)}
    return await submit_judgments(engine, Submission.model_validate(wire))


async def test_beside_a_sealed_benchmark_an_open_run_takes_its_judgments_and_its_cases_have_figures(
    engine: Engine,
) -> None:
    job = await waiting(engine)
    await save(engine, case("s", expectedOutputs={"output": "x"}), benchmark("hidden", "s", sealed=True))
    (packet,) = await packets(engine, job.id)
    assert (await submit(engine, job.id, answered(packet, 1, 5))).state == "completed"
    assert (await figures_of_case(engine, "c0")).total_runs == 1


# What is handed out


async def test_without_a_key_the_run_waits_and_hands_out_a_packet_for_each_output(engine: Engine) -> None:
    job = await waiting(engine, 2)
    assert job.state == "awaiting-judgments"
    first, second = await packets(engine, job.id)
    assert [first["testCaseId"], second["testCaseId"]] == ["c0", "c1"]
    assert first["output"] == {"output": "Output of c0."}
    assert first["inputs"] == {"q": "c0"}
    assert [one for one in as_list(first["criteria"]) if isinstance(one, dict)] == [
        {"criterionId": "r/tone", "name": "tone", "description": "Is it kind?", "scoringGuide": "", "minScore": 0.0,
         "maxScore": 1.0},
        {"criterionId": "r/facts", "name": "facts", "description": "Is it right?", "scoringGuide": "", "minScore": 0.0,
         "maxScore": 5.0},
    ]  # fmt: skip
    assert first["digest"] != second["digest"]
    assert not await all_of(engine, TestRun)
    assert not await outbox(engine), "the caller is no person"


async def test_at_most_so_many_packets_are_shown_and_the_rest_is_counted(engine: Engine) -> None:
    job = await waiting(engine, 5)
    summary = await summarize(engine, job.id, limit=2)
    assert (len(summary.packets), summary.more_packets) == (2, 3)


# What comes back


async def test_the_verdicts_of_a_packet_complete_its_run_and_the_last_packet_the_benchmark(engine: Engine) -> None:
    job = await waiting(engine, 2)
    one, two = await packets(engine, job.id)
    after = await submit(engine, job.id, answered(one, 1, 5))
    assert after.state == "awaiting-judgments"
    assert not await all_of(engine, BenchmarkRun)
    run = await found(engine, f"{job.id}:1.1", TestRun)
    assert (run.fields.total_score, run.fields.max_possible_score, run.fields.passed) == (3.4, 3.4, True)
    made = await judgments(engine, run.id)
    assert {name: (judged.score, judged.judged_by) for name, judged in made.items()} == {
        "r/tone": (1, "caller-agent"),
        "r/facts": (5, "caller-agent"),
    }
    after = await submit(engine, job.id, answered(two, 0.5, 1))
    assert after.state == "completed"
    (concluded,) = [one.fields for one in await all_of(engine, BenchmarkRun)]
    assert (concluded.passed_count, concluded.total_count) == (1, 2)
    assert concluded.overall_score == pytest.approx((3.4 + 0.8) / 6.8)
    assert not await packets(engine, job.id)


async def test_those_who_judge_one_run_at_the_same_time_take_turns(engine: Engine) -> None:
    job = await waiting(engine, 6)
    given = [answered(packet, 1, 5) for packet in await packets(engine, job.id)]
    said: list[str] = []

    async def one(packet: Json) -> None:
        try:
            await submit(engine, job.id, packet)
        except ConflictError as error:
            said.append(str(error))

    async with anyio.create_task_group() as group:
        for packet in (given[0], *given):
            group.start_soon(one, packet)
    assert (await get_job(engine, job.id)).state == "completed"
    assert len(said) == 1
    assert "already judged" in said[0]


async def test_an_output_that_is_judged_later_is_compared_with_the_runs_before_it(engine: Engine) -> None:
    await waiting(engine)
    for key, scores in (("before", (1, 5)), ("after", (0, 0))):
        job = await bench(engine, "b", key=key, fresh=True)
        (packet,) = await packets(engine, job.id)
        await submit(engine, job.id, answered(packet, *scores))
    before, after = [one.fields for one in await all_of(engine, TestRun)]
    assert (before.is_regression, after.is_regression) == (False, True)


async def test_a_second_trial_that_is_judged_later_is_compared_with_no_run_before_it(engine: Engine) -> None:
    first = await waiting(engine)
    await submit(engine, first.id, answered((await packets(engine, first.id))[0], 1, 5))
    await save(engine, answer("a1", "c0", "Another output of c0."))
    job = await bench(engine, "b", key="trials", fresh=True, trials=2)
    await submit(engine, job.id, *(answered(packet, 0, 0) for packet in await packets(engine, job.id)))
    trials = [run.fields for run in await all_of(engine, TestRun) if run.fields.benchmark_run_id == job.id]
    assert {run.trial: run.is_regression for run in trials} == {1: True, 2: False}


@pytest.mark.parametrize(("named", "asked"), [("v1", None), (None, "v1")])
async def test_a_run_that_is_judged_later_keeps_the_version_that_its_output_was_made_with(
    engine: Engine, named: str | None, asked: str | None
) -> None:
    await save(engine, minion("v1", "prompt-version", content="Say it.", versionNumber=3))
    await save(
        engine, rubric("r", 2, **TWO), case("c", rubricId="r"), answer("a", "c", "Said.", promptVersionRef=named)
    )
    job = await try_case(engine, "c", prompt_version_ref=asked, agent_run_id="a")
    (packet,) = await packets(engine, job.id)
    await submit(engine, job.id, answered(packet, 1, 5))
    run = (await found(engine, f"{job.id}:1.1", TestRun)).fields
    assert (run.prompt_version_ref, run.prompt_version) == ("v1", 3)


async def test_a_single_test_case_completes_with_its_packet(engine: Engine) -> None:
    await waiting(engine)
    job = await try_case(engine, "c0", judge="caller", fresh=True)
    (packet,) = await packets(engine, job.id)
    assert (await submit(engine, job.id, answered(packet, 1, 0))).state == "completed"
    run = await found(engine, f"{job.id}:1.1", TestRun)
    assert (run.fields.passed, run.fields.benchmark_run_id) == (False, None)
    assert (await failure_of(engine, run.id)).test_run_id == run.id


async def test_an_agent_that_gives_no_name_is_kept_as_an_agent(engine: Engine) -> None:
    job = await waiting(engine)
    (packet,) = await packets(engine, job.id)
    await submit_judgments(engine, Submission.model_validate({"runId": job.id, "packets": [answered(packet, 1, 5)]}))
    assert {one.fields.judged_by for one in await all_of(engine, EvalJudgment)} == {"agent"}


async def test_the_caller_is_self_judging_where_it_made_the_output(engine: Engine) -> None:
    job = await waiting(engine, 2)
    one, two = await packets(engine, job.id)
    await submit(engine, job.id, answered(one, 1, 5), judged_by="agent")
    await submit(engine, job.id, answered(two, 1, 5), judged_by="somebody")
    runs = [one.fields.self_judged for one in await all_of(engine, TestRun)]
    assert runs == [True, False]


async def refused(
    engine: Engine, job: Job, error: type[EvalsError], why: str, *given: Json, judged_by: str = "caller-agent"
) -> None:
    """The submission is refused, and nothing of it is kept."""
    before = await counts(engine), (await summarize(engine, job.id)).state
    with pytest.raises(error, match=why):
        await submit(engine, job.id, *given, judged_by=judged_by)
    assert (await counts(engine), (await summarize(engine, job.id)).state) == before


@pytest.mark.parametrize(
    ("change", "error", "why"),
    [
        ({"rationale": "  "}, RuleError, "HR4: .*criterion r/facts: a judgment needs a rationale"),
        ({"rationale": "\u200b"}, RuleError, "HR4"),
        ({"score": 5.1}, InvalidRecordError, "r/facts: score: 5.1 is outside 0 to 5"),
        ({"score": -0.1}, InvalidRecordError, "r/facts: score: -0.1 is outside 0 to 5"),
        ({"criterionId": "r/style"}, ConflictError, "criterion r/style was not requested"),
        ({"criterionId": "r/tone"}, ConflictError, "criterion r/tone is judged twice"),
    ],
)
async def test_one_bad_judgment_refuses_the_whole_submission_by_name(
    engine: Engine, change: Json, error: type[EvalsError], why: str
) -> None:
    job = await waiting(engine, 2)
    one, two = await packets(engine, job.id)
    bad = answered(two, 1, 4)
    last = as_list(bad["judgments"])[1]
    assert isinstance(last, dict)
    last.update(change)
    await refused(engine, job, error, why, answered(one, 1, 5), bad)


async def test_a_packet_without_all_its_judgments_is_refused(engine: Engine) -> None:
    job = await waiting(engine)
    (packet,) = await packets(engine, job.id)
    part = answered(packet, 1, 5)
    del as_list(part["judgments"])[0]
    await refused(engine, job, ConflictError, "no judgment for r/tone", part)
    await refused(engine, job, ConflictError, "no judgment for r/facts, r/tone", {**part, "judgments": []})


async def test_confidence_outside_its_range_or_a_nameless_judge_cannot_even_be_written(engine: Engine) -> None:
    given: Json = {"criterionId": "c", "score": 1, "rationale": "it says so"}
    for confidence in (-0.1, 1.1):
        wire: Json = {"digest": "d", "judgments": [{**given, "confidence": confidence}]}
        with pytest.raises(ValidationError, match="confidence"):
            Submission.model_validate({"runId": "r", "judgedBy": "x", "packets": [wire]})
    with pytest.raises(ValidationError, match="packets"):
        Submission.model_validate({"runId": "r", "judgedBy": "x", "packets": []})


async def test_a_packet_that_was_never_handed_out_or_is_anothers_is_refused(engine: Engine) -> None:
    job = await waiting(engine)
    (packet,) = await packets(engine, job.id)
    other = await try_case(engine, "c0")
    await refused(engine, job, ConflictError, "has no judgment request", {**answered(packet, 1, 5), "digest": "0" * 32})
    await refused(engine, other, ConflictError, "has no judgment request", answered(packet, 1, 5))
    with pytest.raises(NotFoundError):
        await submit(engine, "nowhere", answered(packet, 1, 5))


async def test_a_packet_is_judged_once(engine: Engine) -> None:
    job = await waiting(engine, 2)
    one, two = await packets(engine, job.id)
    await submit(engine, job.id, answered(one, 1, 5))
    await refused(engine, job, ConflictError, "already judged", answered(one, 0, 0))
    await refused(engine, job, ConflictError, "already judged", answered(two, 1, 5), answered(one, 1, 5))
    await submit(engine, job.id, answered(two, 1, 5))
    await refused(engine, job, ConflictError, "already judged", answered(two, 1, 5))


async def test_a_packet_that_comes_twice_in_one_submission_is_refused(engine: Engine) -> None:
    job = await waiting(engine, 2)
    one, _ = await packets(engine, job.id)
    await refused(engine, job, ConflictError, "duplicate judgment request", answered(one, 1, 5), answered(one, 0, 0))


async def test_a_case_that_was_changed_since_makes_its_packet_stale(engine: Engine) -> None:
    job = await waiting(engine)
    (packet,) = await packets(engine, job.id)
    await save(engine, case("c0", rubricId="r", expectedOutputs={"output": "new"}))
    await refused(engine, job, ConflictError, "changed since it was created", answered(packet, 1, 5))


async def test_a_criterion_that_was_changed_since_makes_its_packet_stale(engine: Engine) -> None:
    job = await waiting(engine)
    (packet,) = await packets(engine, job.id)
    await save(engine, rubric("r", 2, **{**TWO, "tone": BRISK}))
    await refused(engine, job, ConflictError, "changed since it was created", answered(packet, 1, 5))


async def test_each_packet_gets_its_own_scores_even_where_the_outputs_are_the_same(engine: Engine) -> None:
    await save(engine, rubric("r", 2, **TWO), case("c", rubricId="r"), benchmark("b", "c"))
    await save(engine, answer("a1", "c", "Same."), answer("a2", "c", "Same."))
    job = await bench(engine, "b", trials=2)
    one, two = await packets(engine, job.id)
    await submit(
        engine, job.id, answered(one, 0.1, 1, why="this comes first"), answered(two, 0.9, 4, why="this comes second")
    )
    first, second = await judgments(engine, f"{job.id}:1.1"), await judgments(engine, f"{job.id}:1.2")
    assert (first["r/tone"].score, first["r/tone"].rationale) == (0.1, "this comes first")
    assert (second["r/tone"].score, second["r/tone"].rationale) == (0.9, "this comes second")


async def test_a_verdict_on_the_same_output_criterion_and_judge_is_used_again(engine: Engine) -> None:
    job = await waiting(engine)
    (packet,) = await packets(engine, job.id)
    await submit(engine, job.id, answered(packet, 0.5, 3, why="read it once"))
    again = await bench(engine, "b")
    assert again.state == "completed"
    assert (await judgments(engine, f"{again.id}:1.1"))["r/facts"].rationale == "read it once"
    fresh = await bench(engine, "b", fresh=True)
    assert fresh.state == "awaiting-judgments"


async def test_a_kept_verdict_is_not_used_for_another_output_or_criterion(engine: Engine) -> None:
    job = await waiting(engine)
    (packet,) = await packets(engine, job.id)
    await submit(engine, job.id, answered(packet, 0.5, 3))
    await save(engine, rubric("r", 2, **{**TWO, "tone": LIGHTER}))
    assert (await bench(engine, "b")).state == "completed", "a weight is no matter of the judge's"
    await save(engine, rubric("r", 2, **{**TWO, "tone": BRISK}))
    assert (await bench(engine, "b")).state == "awaiting-judgments"
    await save(engine, rubric("r", 2, **TWO), answer("newer", "c0", "Another.", triggeredAt="2026-11-22T09:00:00Z"))
    assert (await bench(engine, "b")).state == "awaiting-judgments"


async def test_a_mixed_rubric_asks_only_for_what_rules_do_not_judge(engine: Engine) -> None:
    parts = rubric("r", 1, rule=says("refund", weight=0.5), read={"weight": 0.5})
    await save(engine, parts, case("c", rubricId="r"), answer("a", "c", "A refund."))
    job = await try_case(engine, "c")
    (packet,) = await packets(engine, job.id)
    assert [one["criterionId"] for one in as_list(packet["criteria"]) if isinstance(one, dict)] == ["r/read"]
    await submit(engine, job.id, answered(packet, 1))
    made = await judgments(engine, f"{job.id}:1.1")
    assert (made["r/rule"].judged_by_type, made["r/rule"].score) == ("heuristic", 1)
    assert (made["r/read"].judged_by_type, made["r/read"].judged_by) == ("llm", "caller-agent")
    assert (await found(engine, f"{job.id}:1.1", TestRun)).fields.passed


async def test_what_a_model_judged_before_the_wait_is_kept_and_not_paid_for_again(tmp_path: Path) -> None:
    parts = rubric("r", 1, model={"weight": 0.5}, person={"weight": 0.5, "judgeType": "human"})
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, parts, case("c", rubricId="r"), answer("a", "c", "A refund."))
        job = await try_case(engine, "c", fresh=True)
        assert (job.state, server.requests) == ("awaiting-judgments", 1)
        (packet,) = await packets(engine, job.id)
        assert [one["criterionId"] for one in as_list(packet["criteria"]) if isinstance(one, dict)] == ["r/person"]
        await submit(engine.speaking(person("ada")), job.id, answered(packet, 1))
        made = await judgments(engine, f"{job.id}:1.1")
        assert server.requests == 1
    assert (made["r/model"].judged_by, made["r/person"].judged_by) == ("anthropic:fake-judge", "ada")


# Persons


async def test_a_person_is_asked_once_however_often_the_run_is_started(engine: Engine) -> None:
    job = await waiting(engine, judge="human", key="k")
    (asked,) = await outbox(engine, "approval-request")
    request = asked.record.fields
    assert isinstance(request, ApprovalRequest)
    (packet,) = await packets(engine, job.id)
    assert request.payload["packet"] == packet
    assert (request.context_ref_type, request.context_ref_id) == ("run", job.id)
    await bench(engine, "b", judge="human", key="k")
    assert len(await outbox(engine)) == 1


async def test_a_packet_for_a_person_is_not_an_agents_to_answer_under_whatever_name(engine: Engine) -> None:
    job = await waiting(engine, judge="human")
    (packet,) = await packets(engine, job.id)
    await confirm_person(engine, "Anna")
    for name in ("agent", "nobody"):
        with pytest.raises(BadInputError, match=r"asks a person .*, and the caller is an agent") as refused:
            await submit(engine, job.id, answered(packet, 1, 5), judged_by=name)
        assert "minions-evals people add NAME" in typed(refused.value)
    with pytest.raises(BadInputError, match="anna is a person registered in this store"):
        await submit(engine, job.id, answered(packet, 1, 5), judged_by="anna")
    assert not await all_of(engine, EvalJudgment)


async def test_a_persons_verdict_is_kept_as_human(engine: Engine) -> None:
    job = await waiting(engine, judge="human")
    (packet,) = await packets(engine, job.id)
    await submit(engine.speaking(person("ada")), job.id, answered(packet, 1, 5))
    run = await found(engine, f"{job.id}:1.1", TestRun)
    assert run.fields.judge_type == "human"
    assert {one.fields.judged_by_type for one in await all_of(engine, EvalJudgment)} == {"human"}


async def test_a_case_with_nothing_to_judge_by_waits_for_a_person_and_is_neither_passed_nor_failed(
    engine: Engine,
) -> None:
    await save(engine, case("c"), answer("a", "c", "something"), benchmark("b", "c"))
    job = await bench(engine, "b", judge="heuristic")
    assert job.state == "awaiting-judgments"
    assert not await all_of(engine, TestRun)
    (asked,) = await outbox(engine, "approval-request")
    assert asked.record.title == "Accept as baseline: c"
    (packet,) = await packets(engine, job.id)
    assert packet["output"] == {"output": "something"}, "the output is kept"
    assert isinstance(asked.record.fields, ApprovalRequest)
    assert asked.record.fields.payload["packet"] == packet
    await refused(engine, job, BadInputError, "no rubric to judge by", answered(packet, 1), judged_by="ada")


async def test_a_case_that_gets_an_expectation_has_its_waiting_output_judged_and_the_run_is_named(
    engine: Engine,
) -> None:
    await save(engine, case("c"), answer("a", "c", "something"), benchmark("b", "c"))
    job = await bench(engine, "b", judge="heuristic")
    arrival = Arrival(case("c", expectedOutputs={"output": "something"}))
    _, went_on = await save_with_baselines(engine, [arrival], by="ada")
    assert went_on.run_ids == (job.id,)
    assert [run.fields.passed for run in await all_of(engine, TestRun)] == [True]
    _, again = await save_with_baselines(engine, [arrival], by="ada")
    assert again.run_ids == ()
    assert await judge_waiting(engine, UnitKey(job.id, 0, 1)) is False, "it waits no longer"


# A run that was interrupted before all its outputs waited


async def test_judging_what_waits_of_an_interrupted_run_does_not_end_it(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path, concurrency=1)) as engine:
        names = [f"c{n}" for n in range(300)]
        await save(engine, rubric("r", 2, **TWO), [case(name, rubricId="r") for name in names], benchmark("b", *names))
        await save(engine, [answer(f"a-{name}", name, f"Output of {name}.") for name in names])
        request = RunRequest(subject_id="b", key="k")
        with anyio.CancelScope() as scope:

            async def interrupt(outcome: Outcome) -> None:
                assert outcome == "awaiting-judgments"
                scope.cancel()

            await run_benchmark(engine, request, progress=interrupt)
        assert scope.cancelled_caught
        summary = await summarize(engine, "k", limit=400)
        assert summary.state == "stopped"
        assert 0 < len(summary.packets) < 300
        after = await submit(engine, "k", *(answered(one, 1, 5) for one in dicts(summary)))
        assert after.state == "stopped"
        assert not await all_of(engine, BenchmarkRun)
        assert (await run_benchmark(engine, request)).state == "awaiting-judgments"
        rest = dicts(await summarize(engine, "k", limit=400))
        assert len(rest) == 300 - len(summary.packets)
        assert (await submit(engine, "k", *(answered(one, 1, 5) for one in rest))).state == "completed"
        assert [one.fields.total_count for one in await all_of(engine, BenchmarkRun)] == [300]


def dicts(summary: RunSummary) -> list[Json]:
    """The packets of a summary."""
    return [packet.model_dump(mode="json") for packet in summary.packets]
