"""The skill "run a test case": who judges an output, by what, and what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import AgentRun, ApprovalRequest
from minions_evals_mcp.domain.results import EvalFailure, EvalJudgment, TestRun
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import InstrumentError, UnsupportedError
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION
from tests.engine.run.test_case_outputs import WANTS_GOOD
from tests.shared.fakes.llm_server import serving
from tests.workshop import (
    Json,
    all_of,
    answer,
    bench,
    benchmark,
    benchmark_run,
    by_rule,
    case,
    config_in,
    found,
    judged_case,
    judgments,
    opened,
    outbox,
    rubric,
    save,
    says,
    try_case,
)

# What is kept of a judged output


async def test_the_case_is_judged_by_its_rubric_with_all_criteria(engine: Engine) -> None:
    criteria = rubric("r", 0.5, relevance=says("refund"), tone=says("sorry"))
    await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "Sorry, here is your refund."))
    run = await judged_case(engine, "c")
    assert (run.fields.test_case_id, run.fields.rubric_id, run.fields.rubric_version) == ("c", "r", 1)
    assert set(await judgments(engine, run.id)) == {"r/relevance", "r/tone"}


async def test_the_output_is_that_of_the_linked_agent_run(engine: Engine) -> None:
    output: Json = {"output": "good", "sources": ["a", "b"], "n": None}
    await save(engine, case("c", expectedOutputs={"output": "good"}), answer("a", "c", output))
    run = (await judged_case(engine, "c")).fields
    assert (run.agent_run_id, run.actual_output, run.produced_by) == ("a", output, "agent")


async def test_each_criterion_is_judged_by_its_own_kind_of_judge(tmp_path: Path) -> None:
    criteria = rubric(
        "r", 1, rule=says("refund"), model={"judgeType": "llm", "description": "Is it settled?", "weight": 0.6}
    )
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "The refund is on its way."))
        run = await judged_case(engine, "c")
        made = await judgments(engine, run.id)
        assert server.judge == 1
    assert (made["r/rule"].judged_by_type, made["r/rule"].judged_by) == ("heuristic", SCORER_VERSION)
    assert (made["r/model"].judged_by_type, made["r/model"].judged_by) == ("llm", "anthropic:fake-judge")


async def test_a_human_criterion_asks_a_person_through_an_approval_request(engine: Engine) -> None:
    criteria = rubric("r", 1, taste={"judgeType": "human"})
    await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "Fine words."))
    job = await try_case(engine, "c")
    assert job.state == "awaiting-judgments"
    (asked,) = await outbox(engine, "approval-request")
    assert isinstance(asked.record.fields, ApprovalRequest)
    assert (asked.record.fields.context_ref_id, asked.record.fields.decision) == (job.id, "pending")
    assert asked.record.fields.payload["runId"] == job.id
    assert not await all_of(engine, TestRun)


async def test_there_is_one_judgment_for_each_criterion(engine: Engine) -> None:
    criteria = rubric("r", 0.5, a=says("x"), b=says("y"), c=says("z", weight=0))
    await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "x"))
    run = await judged_case(engine, "c")
    made = [one.fields for one in await all_of(engine, EvalJudgment)]
    assert [one.criterion_id for one in made] == ["r/a", "r/b", "r/c"]
    assert {one.test_run_id for one in made} == {run.id}
    assert [one.score for one in made] == [1, 0, 0]


async def test_the_total_is_the_weighted_sum_over_the_criteria(engine: Engine) -> None:
    half = by_rule("[{type: icontains, value: x}, {type: icontains, value: z}]", weight=0.5, minScore=1, maxScore=5)
    criteria = rubric("r", 1, a=half, b=says("x", weight=0.25, maxScore=4))
    await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "only x"))
    run = (await judged_case(engine, "c")).fields
    assert run.total_score == pytest.approx(0.5 * 3 + 0.25 * 4)
    assert run.max_possible_score == pytest.approx(0.5 * 5 + 0.25 * 4)


@pytest.mark.parametrize(("threshold", "passed"), [(0.8, True), (0.8 + 1e-6, False), (0.7, True)])
async def test_a_total_equal_to_the_threshold_passes_whatever_floats_do(
    engine: Engine, threshold: float, passed: bool
) -> None:
    assert 0.7 + 0.1 < 0.8
    criteria = rubric("r", threshold, a=says("x", weight=0.7), b=says("x", weight=0.1), c=says("y", weight=0.2))
    await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "x"))
    run = (await judged_case(engine, "c")).fields
    assert run.passed is passed
    assert run.pass_rule == "rubric_threshold"


async def test_the_test_run_is_kept_with_its_full_results(engine: Engine) -> None:
    criteria = rubric("r", 1, a=says("x"))
    recorded = answer(
        "a", "c", "x", promptVersionRef="v1", triggeredAt="2026-11-20T09:00:00Z", completedAt="2026-11-20T09:00:01.5Z",
        cost=0.25,
    )  # fmt: skip
    await save(engine, criteria, case("c", rubricId="r"), recorded)
    record = await judged_case(engine, "c")
    run = record.fields
    assert (run.outcome, run.passed, run.judge_type, run.trial) == ("scored", True, "heuristic", 1)
    assert (run.duration_ms, run.latency_ms, run.cost_usd, run.prompt_version_ref) == (1500, 1500, 0.25, "v1")
    assert (run.benchmark_run_id, run.self_judged, run.ran_at) == (None, False, record.created_at)
    kept = run.digests
    assert all((kept.test_case, kept.rubric, kept.judge, kept.scorer))
    assert kept.target is None, "the output was recorded, no target made it"
    wire = record.wire()["fields"]
    assert isinstance(wire, dict)
    needed = {
        "testCaseId", "agentRunId", "promptVersionRef", "actualOutput", "passed", "totalScore", "maxPossibleScore",
        "ranAt", "durationMs", "judgeType", "outcome", "trial", "digests",
    }  # fmt: skip
    assert needed <= set(wire)


# What the text of an output is, and what is expected of it


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"text": "y", "output": "x"}, "x"),
        ({"content": "y", "text": "x"}, "x"),
        ({"response": "y", "content": "x"}, "x"),
        ({"note": "y", "response": "x"}, "x"),
        ({"reply": "x", "n": 3}, "x"),
        ({"b": "y", "a": "x"}, '{"a":"x","b":"y"}'),
        ({"n": 3}, '{"n":3}'),
        ({"output": {"b": 1, "a": None}}, '{"a":null,"b":1}'),
    ],
)
async def test_the_text_of_an_output_is_found_in_the_stated_order(engine: Engine, output: Json, text: str) -> None:
    await save(engine, case("c", assertions=[{"type": "equals", "value": text}]), answer("a", "c", output))
    run = await judged_case(engine, "c")
    assert run.fields.passed, (await judgments(engine, run.id)).values()


@pytest.mark.parametrize(
    ("expected", "output", "passed"),
    [
        ({"output": "Refund"}, {"output": "your REFUND is on its way"}, True),
        ({"output": "refund"}, {"output": "no money"}, False),
        ({"answer": "refund"}, {"output": "the refund"}, True),
        ({"output": "/ref-\\d+$/"}, {"output": "see ref-12"}, True),
        ({"output": "/ref-\\d+$/"}, {"output": "see REF-12"}, False),
        ({"output": "/(?i)ref-\\d+$/"}, {"output": "see REF-12"}, True),
        ({"output": "//"}, {"output": "http://x"}, True),
        ({"output": {"a": [1, 2.0]}}, {"output": {"a": [1.0, 2]}}, True),
        ({"output": {"a": [1, 2]}}, {"output": {"a": [2, 1]}}, False),
        ({"output": 42}, {"output": 42}, True),
        ({"output": 42}, {"output": 43}, False),
        ({"city": "Rome", "zip": "001"}, {"city": "Rome", "zip": "00184"}, True),
        ({"city": "Rome", "zip": "002"}, {"city": "Rome", "zip": "00184"}, False),
        ({"city": "Rome", "zip": "001"}, {"city": "Rome, 00184"}, False),
    ],
)
async def test_expected_outputs_are_compared_key_by_key_and_all_must_pass(
    engine: Engine, expected: Json, output: Json, passed: bool
) -> None:
    await save(engine, case("c", expectedOutputs=expected), answer("a", "c", output))
    assert (await judged_case(engine, "c")).fields.passed is passed


async def test_a_missing_key_is_named_in_the_rationale(engine: Engine) -> None:
    wanted: Json = {"city": "Rome", "zip": "001"}
    await save(engine, case("c", expectedOutputs=wanted), answer("a", "c", {"city": "Rome"}))
    (verdict,) = (await judgments(engine, (await judged_case(engine, "c")).id)).values()
    assert "zip: the output has no such key" in verdict.rationale


# What decides


async def test_the_rubric_decides_before_the_assertions_and_these_before_the_expected_output(engine: Engine) -> None:
    criteria = rubric("r", 1, a=says("rubric"))
    wanted: Json = {"output": "expected"}
    asserted: JsonValue = [{"type": "contains", "value": "assertion"}]
    await save(
        engine, criteria,
        case("by-rubric", rubricId="r", assertions=asserted, expectedOutputs=wanted),
        case("by-assertion", assertions=asserted, expectedOutputs=wanted),
        case("by-expected", expectedOutputs=wanted),
        answer("a1", "by-rubric", "rubric"), answer("a2", "by-assertion", "assertion"),
        answer("a3", "by-expected", "expected"),
    )  # fmt: skip
    rules: dict[str, str] = {}
    for name in ("by-rubric", "by-assertion", "by-expected"):
        job = await try_case(engine, name)
        run = (await found(engine, f"{job.id}:1.1", TestRun)).fields
        assert run.passed
        rules[name] = run.pass_rule
    assert rules == {"by-rubric": "rubric_threshold", "by-assertion": "assertions", "by-expected": "max_score"}


async def test_without_a_rubric_there_is_one_judgment_on_an_implicit_criterion_that_says_what_matched(
    engine: Engine,
) -> None:
    await save(engine, case("c", expectedOutputs=WANTS_GOOD, maxScore=4), answer("a", "c", "quite good"))
    run = await judged_case(engine, "c")
    ((criterion, verdict),) = (await judgments(engine, run.id)).items()
    assert criterion == "implicit:c"
    assert (verdict.score, verdict.max_score) == (4, 4)
    assert "good" in verdict.rationale
    assert (run.fields.total_score, run.fields.max_possible_score, run.fields.rubric_id) == (4, 4, None)


@pytest.mark.parametrize(("threshold", "passed"), [(0.5, True), (0.51, False), (None, False)])
async def test_a_cases_threshold_is_of_its_assertions_aggregate_and_inclusive(
    engine: Engine, threshold: float | None, passed: bool
) -> None:
    asserted: JsonValue = [{"type": "contains", "value": "x"}, {"type": "contains", "value": "y"}]
    own: Json = {} if threshold is None else {"threshold": threshold}
    await save(engine, case("c", assertions=asserted, **own), answer("a", "c", "x"))
    run = (await judged_case(engine, "c")).fields
    assert (run.passed, run.total_score) == (passed, 0.5)


async def test_by_similarity_an_output_passes_that_means_the_same(engine: Engine) -> None:
    own: Json = {"expectedOutputs": {"output": "The parcel arrives on Monday."}, "passRule": "similarity_0_8"}
    near, far = case("near", **own), case("far", **own)
    await save(engine, near, far, answer("a", "near", "The parcel will arrive on Monday."), answer("b", "far", "No."))
    passed, failed = await judged_case(engine, "near"), await judged_case(engine, "far")
    assert (passed.fields.passed, failed.fields.passed) == (True, False)
    assert passed.fields.pass_rule == "similarity_0_8"
    assert passed.fields.total_score == passed.fields.semantic_score
    assert (await judgments(engine, passed.id))["implicit:near"].rationale.startswith("similarity 0.")


async def test_prose_cannot_be_judged_by_rule_and_is_refused_before_anything_runs(engine: Engine) -> None:
    criteria = rubric("r", 1, a={"judgeType": "llm", "scoringGuide": "Be kind."})
    await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "good"))
    with pytest.raises(UnsupportedError, match="r/a of rubric r cannot be judged by rule"):
        await try_case(engine, "c", judge="heuristic")
    with pytest.raises(UnsupportedError, match="needs a model"):
        await try_case(engine, "c", judge="llm")


@pytest.mark.parametrize(("model_weight", "kind"), [(0.6, "llm"), (0.3, "heuristic"), (0.5, "llm")])
async def test_the_runs_judge_type_is_that_of_the_heaviest_criterion_the_first_among_equals(
    tmp_path: Path, model_weight: float, kind: str
) -> None:
    criteria = rubric("r", 0.1, model={"judgeType": "llm", "weight": model_weight}, rule=says("x", weight=0.5))
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "x y z"))
        assert (await judged_case(engine, "c")).fields.judge_type == kind


@pytest.mark.parametrize(("agent", "own"), [("anthropic:fake-judge", True), ("somebody", False)])
async def test_a_run_is_self_judged_where_its_judge_made_the_output(tmp_path: Path, agent: str, own: bool) -> None:
    criteria = rubric("r", 0.1, model={"judgeType": "llm"}, rule=says("x"))
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "x y z", agentId=agent))
        assert (await judged_case(engine, "c")).fields.self_judged is own


async def test_a_judge_that_fails_is_an_error_and_no_score_is_invented(tmp_path: Path) -> None:
    criteria = rubric("r", 0.1, model={"judgeType": "llm"}, rule=says("x"))
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        server.configure(type(server.settings)(p529=1.0))
        await save(engine, criteria, case("c", rubricId="r"), answer("a", "c", "x y z"))
        with pytest.raises(InstrumentError, match="judge-error"):
            await try_case(engine, "c", key="k")
        assert not await all_of(engine, TestRun)
        assert not await all_of(engine, EvalJudgment)
        server.configure(type(server.settings)())
        job = await try_case(engine, "c", key="k")
        assert (await found(engine, f"{job.id}:1.1", TestRun)).fields.passed


# The hard rules, as far as this skill has to keep them


async def test_what_an_agent_produced_is_never_changed(engine: Engine) -> None:
    recorded = answer("a", "c", {"output": " Bad \u200b", "x": None}, toolCallsLog=[{"tool": "t", "result": {"k": 1}}])
    await save(engine, case("c", expectedOutputs=WANTS_GOOD), recorded, benchmark("b", "c"))
    before = await found(engine, "a", AgentRun)
    run = await judged_case(engine, "c")
    await benchmark_run(engine, await bench(engine, "b"))
    assert await found(engine, "a", AgentRun) == before
    assert run.fields.actual_output == before.fields.outputs


async def test_every_failed_run_has_its_eval_failure_from_the_same_moment(engine: Engine) -> None:
    cases = [case(f"c{n}", expectedOutputs=WANTS_GOOD) for n in range(6)]
    runs = [answer(f"a{n}", f"c{n}", "good" if n % 2 else "bad") for n in range(6)]
    await save(engine, cases, runs, benchmark("b", *(one.id for one in cases)))
    await bench(engine, "b")
    failed = {one.id: one for one in await all_of(engine, TestRun) if not one.fields.passed}
    failures = {one.fields.test_run_id: one for one in await all_of(engine, EvalFailure)}
    assert len(failed) == 3
    assert set(failures) == set(failed)
    assert all(failures[ident].created_at == run.created_at for ident, run in failed.items())


async def test_every_judgment_says_why(engine: Engine) -> None:
    criteria = rubric("r", 1, a=says("x"), b=by_rule("[{type: word-count, value: 3}, {type: not-is-refusal}]"))
    cases = [
        case("c", rubricId="r"),
        case("d", expectedOutputs=WANTS_GOOD),
        case("e", assertions=[{"type": "is-json"}]),
    ]
    runs = [answer("a1", "c", "x y z"), answer("a2", "d", "no"), answer("a3", "e", {"a": 1, "output": "{}"})]
    await save(engine, criteria, cases, runs, benchmark("b", "c", "d", "e"))
    await bench(engine, "b")
    made = [one.fields for one in await all_of(engine, EvalJudgment)]
    assert len(made) == 4
    assert all(len(one.rationale.split()) >= 2 for one in made), [one.rationale for one in made]
