"""The skill "classify failures": with the run, by rule; afterwards by a model where rules cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import MemoryItem
from minions_evals_mcp.domain.results import EvalFailure, TestRun
from minions_evals_mcp.engine.context import Engine, EngineConfig
from minions_evals_mcp.engine.failures.classify_failure import (
    classify_failure,
    classify_failures,
    estimate_classification,
    failed_run_ids,
    store_findings,
)
from minions_evals_mcp.engine.failures.explain_failure import explainer
from minions_evals_mcp.errors import BadInputError, NotFoundError, RuleError, StoppedError
from minions_evals_mcp.store import events
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.workshop import (
    Json,
    answer,
    bench,
    benchmark,
    by_rule,
    case,
    config_in,
    counts,
    failure_of,
    found,
    judged_case,
    minion,
    opened,
    outbox,
    rubric,
    save,
    says,
    try_case,
)

GOOD: Json = {"output": "good"}
REFUSAL = "I'm sorry, but I can't help with that."
UNSURE = "Part one is done. It took a day. Part two is another matter. I cannot help with that. Part three is done. See the log."
"""What the rules are not sure about."""


async def test_the_failure_says_what_was_expected_and_what_came(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs={"output": "14 days"}), answer("a", "c", "Within 40 days."))
    failure = await failure_of(engine, (await judged_case(engine, "c")).id)
    assert "14 days" in failure.description
    assert "Within 40 days." in failure.description


async def test_of_several_keys_only_those_that_failed_are_the_cause(engine: Engine) -> None:
    wanted: Json = {"city": "Rome", "n": 3}
    await save(engine, case("c", expectedOutputs=wanted), answer("r", "c", {"city": "rome", "n": 13}))
    run = await judged_case(engine, "c")
    failure = await failure_of(engine, run.id)
    assert (failure.failure_type, failure.root_cause.count("Rome")) == ("wrong-output", 0)
    assert failure.description.startswith('Expected “{"n":3}”, got “{"n":13}”.')


async def test_it_is_recorded_in_the_transaction_of_its_run_or_neither_is(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", "bad"))
    await engine.store.write(_take_the_runs_id)
    before = await counts(engine)
    with pytest.raises(RuleError, match="HR1"):
        await try_case(engine, "c", key="k")
    assert await counts(engine) == before, "the failure is written before the run, which is refused"


def _take_the_runs_id(db: events.Db) -> None:
    db.execute(
        "INSERT INTO test_run (id, test_case_id, trial, outcome, passed, total_score, max_possible_score, judge_type, ran_at,"
        " rest) VALUES ('job1:1.1', 'other', 1, 'scored', 1, 1, 1, 'heuristic', 0, '{}')"
    )


LATE: Json = {"triggeredAt": "2026-11-20T09:00:00Z", "completedAt": "2026-11-20T09:00:09Z"}


@pytest.mark.parametrize(
    ("expected", "output", "more", "kind"),
    [
        (GOOD, "good", LATE, "timeout"),
        (GOOD, REFUSAL, {}, "refusal"),
        ({"output": {"a": 1}}, "a is 1", {}, "format-error"),
        (
            {"output": "18,400"}, "The stadium seats 24,500 people.",
            {"toolCallsLog": [{"tool": "search", "arguments": {"q": "stadium"}, "result": "It seats 18,400."}]},
            "hallucination",
        ),
        (GOOD, "something else", {}, "wrong-output"),
    ],
)  # fmt: skip
async def test_a_failure_has_one_of_five_types_by_the_first_evidence_that_fits(
    engine: Engine, expected: Json, output: str, more: Json, kind: str
) -> None:
    await save(engine, case("c", expectedOutputs=expected, timeoutMs=5000), answer("a", "c", output, **more))
    assert (await failure_of(engine, (await judged_case(engine, "c")).id)).failure_type == kind


async def test_the_criteria_that_cost_the_most_are_named_the_costliest_first(engine: Engine) -> None:
    parts = rubric(
        "r", 0.9, small=says("x", weight=0.1), large=says("x", weight=0.5), middle=says("x", weight=0.3),
        met=says("kept", weight=0.1),
    )  # fmt: skip
    await save(engine, parts, case("c", rubricId="r"), answer("a", "c", "kept"))
    failure = await failure_of(engine, (await judged_case(engine, "c")).id)
    assert failure.affected_criterion_ids == ("r/large", "r/middle")
    assert "large" in failure.description


async def test_the_root_cause_quotes_the_step_of_the_tool_calls_log(engine: Engine) -> None:
    log: list[JsonValue] = [
        {"tool": "find_customer", "arguments": {"id": 7}, "result": {"name": "Ada"}},
        {"tool": "find_order", "arguments": {"id": 9}, "error": "timeout talking to the order service"},
    ]
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", "I have no idea.", toolCallsLog=log))
    failure = await failure_of(engine, (await judged_case(engine, "c")).id)
    assert "step 2" in failure.root_cause.casefold()
    assert "find_order" in failure.root_cause
    assert "timeout talking to the order service" in failure.root_cause


async def test_without_a_log_the_root_cause_says_so(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", "bad"))
    failure = await failure_of(engine, (await judged_case(engine, "c")).id)
    assert failure.root_cause.startswith("There is no tool-call log")


async def test_the_eval_failure_has_the_full_analysis(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", REFUSAL))
    run = await judged_case(engine, "c")
    failure = await failure_of(engine, run.id)
    assert (failure.test_run_id, failure.failure_type, failure.severity) == (run.id, "refusal", "critical")
    assert failure.description
    assert failure.root_cause
    assert failure.affected_criterion_ids == ("implicit:c",)
    assert failure.classified_by.startswith("rules/")
    assert failure.confidence >= 0.75
    assert failure.signals
    assert failure.resolved_at is None


@pytest.mark.parametrize(
    ("passing", "severity"), [(0, "critical"), (4, "critical"), (5, "major"), (11, "major"), (12, "minor")]
)
async def test_severity_follows_the_share_of_the_score_with_exclusive_limits(
    engine: Engine, passing: int, severity: str
) -> None:
    words = ", ".join(f"{{type: contains, value: w{n}w}}" for n in range(20))
    await save(engine, rubric("r", 1, a=by_rule(f"[{words}]")), case("c", rubricId="r"))
    await save(engine, answer("a", "c", "said: " + " ".join(f"w{n}w" for n in range(passing))))
    assert (await failure_of(engine, (await judged_case(engine, "c")).id)).severity == severity


# Afterwards


async def test_only_a_failed_run_can_be_classified(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", "good"))
    run = await judged_case(engine, "c")
    with pytest.raises(BadInputError, match="passed"):
        await classify_failure(engine, run.id)
    with pytest.raises(NotFoundError, match="'nowhere'"):
        await classify_failure(engine, "nowhere")
    with pytest.raises(NotFoundError, match="'c'"):
        await classify_failure(engine, "c")


async def test_rules_alone_change_nothing_and_ask_the_agent_to_remember_once(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", REFUSAL))
    run = await judged_case(engine, "c")
    before = (await found(engine, f"{run.id}:failure", EvalFailure), await counts(engine))
    for _ in range(2):
        assert (await classify_failure(engine, run.id)).fields == before[0].fields
        asked = {**before[1], "outbox": before[1]["outbox"] + 1, "event": before[1]["event"] + 1}
        assert (await found(engine, f"{run.id}:failure", EvalFailure), await counts(engine)) == (before[0], asked)
    (told,) = await outbox(engine, "memory-item")
    assert told.addressee == "memory"
    assert isinstance(told.record.fields, MemoryItem)
    assert (told.record.fields.agent_id, told.record.fields.source_ref_id) == ("agent", f"{run.id}:failure")


async def test_findings_are_stored_without_a_second_analysis_and_for_nobody_where_no_agent_is_known(
    engine: Engine,
) -> None:
    await save(engine, case("c", expectedOutputs=GOOD))
    run = await judged_case(engine, "c", target="python:tests.workshop:echoed")
    failure = await store_findings(engine, run.id)
    assert failure == await found(engine, f"{run.id}:failure", EvalFailure)
    assert await outbox(engine, "memory-item") == []
    await save(engine, case("c", expectedOutputs=GOOD, agentId="writer"))
    await store_findings(engine, run.id)
    (told,) = await outbox(engine, "memory-item")
    assert isinstance(told.record.fields, MemoryItem)
    assert told.record.fields.agent_id == "writer"


async def test_a_run_whose_rubric_has_changed_since_can_still_be_classified(engine: Engine) -> None:
    parts = rubric("r", 0.9, old=says("x", weight=0.5), kept=says("x", weight=0.5))
    await save(engine, parts, case("c", rubricId="r"), answer("a", "c", REFUSAL))
    run = await judged_case(engine, "c")
    await save(engine, rubric("r", 0.4, kept=says("x", weight=0.5)))
    again = (await classify_failure(engine, run.id)).fields
    assert (again.failure_type, again.test_run_id) == ("refusal", run.id)
    assert set(again.affected_criterion_ids) == {"r/old", "r/kept"}


async def test_what_a_live_targets_provider_said_still_counts_when_it_is_classified_again(tmp_path: Path) -> None:
    version = minion("v1", "prompt-version", content="Say good about {{q}}.", versionNumber=1)
    async with (
        serving(FakeSettings(prefusal=1.0)) as server,
        opened(config_in(tmp_path, model_url=server.url)) as engine,
    ):
        await save(engine, version, case("c", expectedOutputs={"output": "excellent"}))
        job = await try_case(engine, "c", target="anthropic:fake-target", prompt_version_ref="v1")
        run = await found(engine, f"{job.id}:1.1", TestRun)
        before = await failure_of(engine, run.id)
        assert before.failure_type == "refusal"
        assert "stop reason: refusal" in before.signals
        assert (await classify_failure(engine, run.id, explain=False)).fields == before


async def test_a_whole_run_is_classified_failure_by_failure(engine: Engine) -> None:
    await save(engine, case("c", expectedOutputs=GOOD), answer("a", "c", "bad"))
    await save(engine, case("d", expectedOutputs=GOOD), answer("b", "d", "bad"), benchmark("both", "c", "d"))
    job = await bench(engine, "both", key="k")
    failures = await classify_failures(engine, "k")
    assert [one.fields.test_run_id for one in failures] == [f"{job.id}:1.1", f"{job.id}:2.1"]
    with pytest.raises(NotFoundError):
        await classify_failures(engine, "nowhere")


# What it costs


def _priced(folder: Path, url: str) -> EngineConfig:
    return replace(config_in(folder, model_url=url), judge_model="anthropic:claude-haiku-4-5-judge")


async def _three_failures(engine: Engine) -> str:
    await save(engine, *(case(name, expectedOutputs=GOOD) for name in "cde"), benchmark("all", "c", "d", "e"))
    await save(engine, *(answer(f"a-{name}", name, UNSURE) for name in "cde"))
    return (await bench(engine, "all", key="k")).id


async def test_a_cost_cap_stops_before_the_call_that_might_exceed_it(tmp_path: Path) -> None:
    async with serving() as server, opened(_priced(tmp_path, server.url)) as engine:
        run_id = await _three_failures(engine)
        failed = await failed_run_ids(engine, run_id)
        free = explainer(engine, allowed=True)
        told = await estimate_classification(engine, failed, free)
        assert (told.failures, told.model_calls, told.model) == (3, 3, "anthropic:claude-haiku-4-5-judge")
        assert told.cost_usd is not None
        assert server.requests == 0, "an estimate asks nobody"
        by = explainer(engine, allowed=True, max_cost_usd=told.cost_usd / 3 + 0.0001)
        await classify_failure(engine, failed[0], by=by)
        with pytest.raises(StoppedError, match="cost cap"):
            await classify_failure(engine, failed[1], by=by)
        kept = [await failure_of(engine, ident) for ident in failed]
        assert server.requests == 1
    assert [one.model_cause is not None for one in kept] == [True, False, False]
    assert {one.classified_by.partition("/")[0] for one in kept} == {"rules"}
    assert 0 < by.budget.spent_usd <= told.cost_usd / 3, "the estimate bounds what it costs"


async def test_an_estimate_counts_only_the_failures_that_the_model_would_be_asked_about(tmp_path: Path) -> None:
    async with serving() as server, opened(_priced(tmp_path, server.url)) as engine:
        failed = await failed_run_ids(engine, await _three_failures(engine))
        for ask, calls in ((None, 0), (False, 0), (True, 3)):
            found = await estimate_classification(engine, failed, explainer(engine, allowed=ask))
            assert found.model_calls == calls
        with pytest.raises(NotFoundError):
            await estimate_classification(engine, ["nowhere"], explainer(engine))


async def test_a_cap_is_refused_where_the_models_price_is_unknown(tmp_path: Path) -> None:
    async with serving() as server, opened(config_in(tmp_path, model_url=server.url)) as engine:
        with pytest.raises(BadInputError, match="price"):
            explainer(engine, allowed=True, max_cost_usd=1)
        explainer(engine, allowed=False, max_cost_usd=1)
        failed = await failed_run_ids(engine, await _three_failures(engine))
        assert (await estimate_classification(engine, failed, explainer(engine, allowed=True))).cost_usd is None
