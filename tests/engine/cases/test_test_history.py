"""Test cases, their runs and their history through the testing API's verbs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.cases import test_history as seen
from minions_evals_mcp.engine.cases import testing
from minions_evals_mcp.engine.cases.baselines import case_of_run, save_case, update_expected_output
from minions_evals_mcp.engine.cases.test_history import TestCaseExecution, TestCaseSummary
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, ConflictError, InvalidRecordError, NotFoundError
from minions_evals_mcp.store.connection import Db
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.models.asking import QUICK, provider_settings
from tests.workshop import (
    SteppingClock,
    all_of,
    answer,
    bench,
    benchmark,
    benchmark_run,
    case,
    config_in,
    found,
    judged_case,
    minion,
    opened,
    rubric,
    save,
    says,
    try_case,
)

LOVE: dict[str, JsonValue] = {"text": "I absolutely love this product! Best purchase ever."}


@pytest.fixture
async def shop(engine: Engine) -> AsyncGenerator[Engine]:
    """An engine that knows two versions of the prompt `p`."""
    one = minion("p@1", "prompt-version", content="Feel {{text}}", description="", versionNumber=1, promptId="p")
    two = minion("p@2", "prompt-version", content="Say {{text}}", description="", versionNumber=2, promptId="p")
    await save(
        engine,
        replace(one, title="Sentiment"),
        replace(two, title="Sentiment, short"),
        relations=[Relation("p@2", "p@1", "follows")],
    )
    yield engine


async def made(
    engine: Engine, ident: str = "c", expected: JsonValue = "positive", **inputs: JsonValue
) -> TestCaseSummary:
    """A case of the prompt."""
    given: JsonValue = inputs or LOVE
    return await testing.create_test_case(
        engine, prompt_id="p", name=ident, input=given, expected_output=expected, id=ident
    )


async def says_now(engine: Engine, said: str, version: str = "p@2", number: int = 1, **inputs: JsonValue) -> None:
    """Another recorded answer of that version, newer than those before."""
    own: dict[str, JsonValue] = {"inputs": inputs or LOVE, "promptVersionRef": version}
    at = (SteppingClock().now + timedelta(minutes=number)).isoformat()
    await save(engine, answer(f"{version}/{number}", "c", said, triggeredAt=at, **own))


async def ran(engine: Engine, *texts: str, first: int = 1) -> list[TestCaseExecution]:
    """The case `c` run on each of those answers in turn."""
    done: list[TestCaseExecution] = []
    for number, text in enumerate(texts, first):
        await says_now(engine, text, number=number)
        done.append(await testing.execute_test_case(engine, "c"))
    return done


async def test_a_test_case_of_a_prompt_is_made_with_the_seeds_fields(shop: Engine) -> None:
    said = (await made(shop)).model_dump(mode="json")
    assert {key: said[key] for key in ("id", "promptId", "name", "description", "input", "expectedOutput")} == {
        "id": "c", "promptId": "p", "name": "c", "description": "", "input": LOVE, "expectedOutput": "positive",
    }  # fmt: skip
    assert said["totalRuns"] == 0
    assert [said[key] for key in ("passRate", "avgScore", "lastRun", "lastPassed")] == [None] * 4
    assert said["createdAt"].endswith("Z")
    assert (await found(shop, "c", TestCase)).fields.pass_rule == "similarity_0_8"


async def test_a_taken_id_and_an_empty_expected_output_are_refused(shop: Engine) -> None:
    await made(shop)
    with pytest.raises(BadInputError, match="'c' is taken"):
        await made(shop)
    with pytest.raises(InvalidRecordError, match="expectedOutputs"):
        await made(shop, "d", expected="")


async def test_the_figures_of_a_case_are_those_of_its_runs(shop: Engine) -> None:
    await made(shop)
    *_, last = await ran(shop, "positive", "Bananas are yellow", "positive")
    said = await seen.test_case(shop, "c")
    assert (said.total_runs, said.last_passed, said.last_run) == (3, True, last.created_at)
    assert said.pass_rate == pytest.approx(200 / 3)
    assert said.avg_score is not None
    assert 2 / 3 < said.avg_score < 0.95


async def test_cases_are_listed_by_prompt_and_shown_with_it(shop: Engine) -> None:
    await made(shop)
    await made(shop, "d", text="other")
    await save(shop, case("elsewhere"))
    assert [one.id for one in await seen.test_cases(shop, "p")] == ["c", "d"]
    prompt = (await seen.test_case(shop, "c")).prompt
    assert prompt is not None
    assert prompt.model_dump() == {"id": "p", "name": "Sentiment, short"}


async def test_a_prompt_that_is_recorded_nowhere_has_no_name(engine: Engine) -> None:
    assert (await made(engine)).prompt is None


async def test_a_case_is_changed_and_hidden(shop: Engine) -> None:
    before = await made(shop)
    after = await testing.update_test_case(shop, "c", {"name": "Love", "input": {"text": "!"}, "description": "new"})
    assert (after.name, after.input, after.description, after.expected_output) == (
        "Love",
        {"text": "!"},
        "new",
        "positive",
    )
    assert after.updated_at > before.updated_at
    assert await testing.delete_test_case(shop, "c")
    assert await seen.test_cases(shop, "p") == []
    for again in (seen.test_case, testing.delete_test_case, seen.test_case_stats):
        with pytest.raises(NotFoundError, match="'c'"):
            await again(shop, "c")


async def test_an_unknown_field_is_refused_by_name(shop: Engine) -> None:
    await made(shop)
    with pytest.raises(InvalidRecordError, match="expected"):
        await testing.update_test_case(shop, "c", {"expected": "x"})


async def test_an_execution_has_the_seeds_fields(shop: Engine) -> None:
    await made(shop, expected="The product is loved.")
    (one,) = await ran(shop, "The product is loved")
    said = one.model_dump(mode="json")
    assert said["semanticScore"] == said["score"] > 0.8
    assert said["outputDiff"] == [{"op": "equal", "text": "The product is loved"}, {"op": "delete", "text": "."}]
    told = {
        key: value for key, value in said.items() if key not in {"semanticScore", "score", "createdAt", "outputDiff"}
    }
    assert told == {
        "id": "job1:1.1", "testCaseExecutionId": "job1:1.1", "testCaseId": "c", "executionId": "p@2/1", "passed": True,
            "reason": "similarity 1.000, 0.8 passes",
        "actualOutput": "The product is loved", "expectedOutput": "The product is loved.", "exactMatch": False,
        "lengthDiff": -1, "tokenDiff": -1, "warnings": [], "isRegression": False, "regressionType": None, "regressionTypes": [],
        "flipped": False, "promptVersion": 2, "runDuration": 0, "latencyMs": None, "costUsd": None,
    }  # fmt: skip


async def test_the_latest_version_runs_unless_a_number_is_given(shop: Engine) -> None:
    await made(shop)
    await says_now(shop, "positive", "p@2")
    await says_now(shop, "negative", "p@1")
    latest = await testing.execute_test_case(shop, "c")
    first = await testing.execute_test_case(shop, "c", prompt_version=1)
    assert [(one.prompt_version, one.actual_output) for one in (latest, first)] == [(2, "positive"), (1, "negative")]
    with pytest.raises(NotFoundError, match="7"):
        await testing.execute_test_case(shop, "c", prompt_version=7)


async def test_a_case_of_no_prompt_is_run_without_a_version(shop: Engine) -> None:
    await save(shop, case("elsewhere", expectedOutputs={"output": "x"}), answer("run", "elsewhere", "x"))
    made_without = await testing.execute_test_case(shop, "elsewhere")
    assert (made_without.passed, made_without.prompt_version) == (True, None)
    with pytest.raises(BadInputError, match="needs its prompt"):
        await testing.execute_test_case(shop, "elsewhere", prompt_version=1)


async def test_a_batch_runs_every_case_and_names_what_it_could_not_run(shop: Engine) -> None:
    await made(shop)
    await made(shop, "d", text="other")
    await made(shop, "e", text="no output")
    await says_now(shop, "positive")
    await says_now(shop, "Bananas", number=2, text="other")
    batch = await testing.batch_run_tests(shop, prompt_id="p", test_case_ids=["d", "c", "e"], key="k")
    assert [(one.test_case_id, one.passed) for one in batch.executions] == [("d", False), ("c", True)]
    (missing,) = batch.not_run
    assert (missing.test_case_id, missing.code) == ("e", "bad-input")
    assert "no recorded agent-run of p@2" in missing.reason
    again = await testing.batch_run_tests(shop, prompt_id="p", test_case_ids=["d", "c"], key="k")
    assert again.executions == batch.executions  # the same key runs nothing twice


async def test_a_batch_of_nothing_or_of_another_prompts_case_runs_nothing(shop: Engine) -> None:
    await save(shop, case("elsewhere", promptId="q"))
    for idents in ([], ["elsewhere"]):
        with pytest.raises(BadInputError):
            await testing.batch_run_tests(shop, prompt_id="p", test_case_ids=idents)


async def test_executions_are_paged_by_offset_and_by_cursor(shop: Engine) -> None:
    await made(shop)
    done = await ran(shop, *["positive"] * 5)
    ids = [one.id for one in done][::-1]
    page = await seen.test_case_executions(shop, "c", limit=2)
    after = await seen.test_case_executions(shop, "c", limit=2, cursor=page.next_cursor)
    rest = await seen.test_case_executions(shop, "c", limit=2, offset=4)
    assert [[one.id for one in part.executions] for part in (page, after, rest)] == [ids[:2], ids[2:4], ids[4:]]
    assert (page.total, rest.next_cursor) == (5, None)


async def test_statistics_have_runs_regressions_and_a_trend_by_day(shop: Engine) -> None:
    await made(shop)
    done = await ran(shop, "positive", "positive")
    assert isinstance(shop.clock, SteppingClock)
    shop.clock.now += timedelta(days=1)
    done += await ran(shop, "Bananas are yellow", first=3)
    stats = await seen.test_case_stats(shop, "c")
    assert (stats.total_runs, stats.pass_rate) == (3, pytest.approx(200 / 3))
    assert [one.id for one in stats.recent_runs] == [one.id for one in done[::-1]]
    (regression,) = stats.regressions
    assert (regression.id, regression.regression_type, regression.prompt_version) == (done[2].id, "FAILED", 2)
    days = [(day.date, day.total_runs, day.pass_rate) for day in stats.trend_data]
    assert days == [("2026-11-21", 2, 100), ("2026-11-22", 1, 0)]
    assert stats.trend_data[0].avg_score == 1.0


async def test_a_case_that_never_ran_has_no_figures(shop: Engine) -> None:
    await made(shop)
    stats = await seen.test_case_stats(shop, "c")
    assert (stats.total_runs, stats.pass_rate, stats.avg_score, stats.trend_data) == (0, None, None, ())


async def test_every_run_is_checked_against_the_last_five(shop: Engine) -> None:
    await made(shop)
    done = await ran(shop, "Bananas", *["positive"] * 5, "Bananas")
    assert not any(one.is_regression for one in done[:1])
    last = done[-1]
    assert (last.is_regression, last.regression_type, last.flipped) == (True, "FAILED", True)
    assert last.regression_types == ("FAILED", "SCORE_DROP")
    kept = (await found(shop, last.id, TestRun)).fields
    assert (kept.is_regression, kept.regression_types) == (True, ("FAILED", "SCORE_DROP"))


async def test_a_passing_answer_that_grew_is_a_change_of_length(shop: Engine) -> None:
    await made(shop, expected="The parcel arrives on Monday.")
    *_, last = await ran(shop, "The parcel arrives on Monday.", "The parcel arrives on Monday. It arrives on Monday.")
    assert last.passed
    assert last.regression_type == "LENGTH_CHANGE"


async def test_comparisons_and_later_trials_are_no_history(shop: Engine) -> None:
    own = case("x", expectedOutputs={"output": "good"})
    await save(shop, own, answer("a1", "x", "bad"), answer("a2", "x", "bad"), benchmark("b", "x"))
    await bench(shop, "b", trials=2)
    await bench(shop, "b", purpose="comparison")
    assert (await seen.test_case_stats(shop, "x")).total_runs == 1
    assert (await seen.test_case_executions(shop, "x")).total == 3
    await save(shop, answer("a3", "x", "good"), answer("a4", "x", "good"))
    runs = [one.fields for one in await all_of(shop, TestRun)]
    assert not any(one.is_regression for one in runs)


async def test_a_run_is_not_compared_with_other_runs_of_its_own_job(shop: Engine) -> None:
    own = case("x", expectedOutputs={"output": "good"})
    await save(shop, own, answer("a1", "x", "good"), answer("a2", "x", "bad"), benchmark("b", "x"))
    await bench(shop, "b", trials=2)
    assert not any(one.fields.flipped or one.fields.is_regression for one in await all_of(shop, TestRun))


async def test_under_a_rubric_the_metrics_stand_beside_its_verdict(engine: Engine) -> None:
    own = case("x", rubricId="r", expectedOutputs={"output": "good morning"})
    await save(engine, rubric("r", 1, polite=says("good")), own, answer("a", "x", "good evening"))
    fields = (await judged_case(engine, "x")).fields
    assert (fields.passed, fields.pass_rule, fields.exact_match, fields.length_diff) == (
        True,
        "rubric_threshold",
        False,
        0,
    )
    assert fields.semantic_score is not None
    assert fields.digests.embedder == "wordllama:l2-supercat-256"


async def test_without_an_expected_text_nothing_is_measured_and_no_embedder_opened(engine: Engine) -> None:
    await save(engine, rubric("r", 1, polite=says("good")), case("x", rubricId="r"), answer("a", "x", "good"))
    await save(engine, case("y", expectedOutputs={"output": "/^g/"}), answer("b", "y", "good"))
    for ident in ("x", "y"):
        fields = (await judged_case(engine, ident)).fields
        assert (fields.exact_match, fields.semantic_score, fields.output_diff) == (None, None, None)
        assert fields.digests.embedder is None
    assert engine.opened_embedder is None


async def test_an_output_that_came_too_late_is_compared_as_none(engine: Engine) -> None:
    late = answer("a", "x", "good", triggeredAt="2026-11-01T00:00:00Z", completedAt="2026-11-01T00:00:09Z")
    await save(engine, case("x", expectedOutputs={"output": "good"}, timeoutMs=10), late)
    fields = (await judged_case(engine, "x")).fields
    assert (fields.outcome, fields.exact_match, fields.semantic_score, fields.length_diff) == (
        "timed-out",
        False,
        0,
        -4,
    )


async def test_an_assertion_on_likeness_judges_a_run(engine: Engine) -> None:
    asserted: list[JsonValue] = [{"type": "similar", "value": "The parcel arrives on Monday."}]
    await save(engine, case("x", assertions=asserted), answer("a", "x", "The parcel will arrive on Monday."))
    fields = (await judged_case(engine, "x")).fields
    assert (fields.passed, fields.semantic_score) == (True, None)
    assert fields.digests.embedder == "wordllama:l2-supercat-256"


async def test_another_embedder_begins_another_series(tmp_path: Path) -> None:
    keys: list[str | None] = []
    async with serving() as server:
        for name in ("wordllama", "openai:e"):
            config = replace(config_in(tmp_path), embedder=name, providers=provider_settings(server.url))
            async with opened(config) as engine:
                engine.new_id = lambda name=name: f"job-{name}"
                own = case("x", expectedOutputs={"output": "good day"}, passRule="similarity_0_8")
                await save(engine, own, answer("a", "x", "good day to you"), benchmark("b", "x"))
                keys.append((await benchmark_run(engine, await bench(engine, "b"))).digests.embedder)
        assert server.requests == 1
    assert keys == ["wordllama:l2-supercat-256", "openai:e"]


async def test_an_embedder_that_fails_is_no_verdict_and_no_metric(tmp_path: Path) -> None:
    hasty = replace(QUICK, attempts=2)
    async with serving(FakeSettings(p500=1)) as server:
        config = replace(config_in(tmp_path), embedder="openai:e", providers=provider_settings(server.url, hasty))
        async with opened(config) as engine:
            own: dict[str, JsonValue] = {"expectedOutputs": {"output": "good"}}
            await save(engine, case("x", **own), answer("a", "x", "so good"))
            await save(engine, case("y", passRule="similarity_0_8", **own), answer("b", "y", "so good"))
            fields = (await judged_case(engine, "x")).fields
            assert (fields.passed, fields.semantic_score, fields.length_diff) == (True, None, 3)
            with pytest.raises(Exception, match="the embedder openai:e failed"):
                await try_case(engine, "y")


def events(db: Db, kind: str) -> list[str]:
    """What was said in the events of that type."""
    return [row[0] for row in db.execute("SELECT detail FROM event WHERE type = ? ORDER BY seq", (kind,))]


async def test_an_accepted_output_is_the_new_baseline_and_the_old_one_is_kept(shop: Engine) -> None:
    before = await made(shop)
    (run,) = await ran(shop, "Bananas are yellow")
    assert not run.passed
    after = await update_expected_output(shop, "c", test_run_id=run.id, by="anna")
    assert (after.expected_output, after.updated_at > before.updated_at) == ("Bananas are yellow", True)
    said = await shop.store.read(lambda db: events(db, "expected-output-updated"))
    assert [json.loads(one) for one in said] == [
        {"by": "anna", "from": {"output": "positive"}, "to": {"output": "Bananas are yellow"}, "testRunId": "job1:1.1"}
    ]
    assert (await testing.execute_test_case(shop, "c")).exact_match
    (then, _) = (await seen.test_case_executions(shop, "c")).executions[::-1]
    assert then.expected_output == "positive"  # as it was when the run was judged


async def test_a_text_can_be_the_baseline_and_changing_the_case_makes_one_too(shop: Engine) -> None:
    await made(shop)
    assert (await update_expected_output(shop, "c", "negative", by="anna")).expected_output == "negative"
    assert (
        await testing.update_test_case(shop, "c", {"expectedOutput": "neutral"}, by="bob")
    ).expected_output == "neutral"
    await testing.update_test_case(shop, "c", {"name": "same baseline"}, by="bob")
    assert len(await shop.store.read(lambda db: events(db, "expected-output-updated"))) == 2


async def test_without_a_word_the_newest_run_is_accepted(shop: Engine) -> None:
    await made(shop)
    with pytest.raises(NotFoundError, match="output of the test-case"):
        await update_expected_output(shop, "c", by="anna")
    await ran(shop, "positive", "neutral")
    assert (await update_expected_output(shop, "c", by="anna")).expected_output == "neutral"


async def test_a_run_of_another_case_or_none_cannot_be_accepted(shop: Engine) -> None:
    await made(shop)
    await save(shop, case("x", expectedOutputs={"output": "good"}), answer("a", "x", "good"))
    run = await judged_case(shop, "x")
    with pytest.raises(BadInputError, match="is a run of another case, x"):
        await update_expected_output(shop, "c", test_run_id=run.id, by="anna")
    for nothing in ("nowhere", "job9:1.1"):
        with pytest.raises(NotFoundError):
            await update_expected_output(shop, "c", test_run_id=nothing, by="anna")
        with pytest.raises(NotFoundError):
            await case_of_run(shop, nothing)


async def test_what_was_expected_under_several_keys_is_accepted_key_by_key(engine: Engine) -> None:
    await save(
        engine, case("x", expectedOutputs={"a": "1", "b": "2"}), answer("r", "x", {"a": "1", "b": "3", "c": "4"})
    )
    run = await judged_case(engine, "x")
    assert await case_of_run(engine, run.id) == "x"
    await update_expected_output(engine, "x", test_run_id=run.id, by="anna")
    assert (await found(engine, "x", TestCase)).fields.expected_outputs == {"a": "1", "b": "3"}
    with pytest.raises(BadInputError, match="a, b"):
        await update_expected_output(engine, "x", "one text", by="anna")


async def test_an_output_with_nothing_to_judge_by_waits_and_passes_once_it_is_accepted(shop: Engine) -> None:
    await made(shop, expected=None)
    (waits,) = await ran(shop, "positive")
    assert (waits.passed, waits.score, waits.actual_output) == (None, None, "positive")
    assert await case_of_run(shop, waits.id) == "c"
    accepted = await update_expected_output(shop, "c", test_run_id=waits.id, by="anna")
    assert (accepted.expected_output, accepted.total_runs, accepted.pass_rate) == ("positive", 1, 100)
    assert (await found(shop, waits.id, TestRun)).fields.exact_match


async def test_a_benchmark_that_waited_for_a_baseline_is_concluded_by_it(engine: Engine) -> None:
    await save(engine, case("x"), answer("a", "x", "good"), benchmark("b", "x"))
    job = await bench(engine, "b")
    assert job.state == "awaiting-judgments"
    await update_expected_output(engine, "x", by="anna")
    assert (await benchmark_run(engine, job)).passed_count == 1


async def test_the_seeds_testing_flow(shop: Engine) -> None:
    """Create, change the prompt, run all, look at failures and regressions apart, accept, monitor."""
    cases = [
        await testing.create_test_case(shop, prompt_id="p", name=name, input={"text": text}, expected_output=wanted)
        for name, text, wanted in (
            ("Strongly positive", "This is absolutely amazing! Best ever!", "positive"),
            ("Subtly negative", "I guess it's okay, but I expected better.", "negative"),
        )
    ]
    for number, one in enumerate(cases, 1):
        await says_now(shop, one.expected_output or "", number=number, text=one.input["text"])
    idents = [one.id for one in cases]
    first = await testing.batch_run_tests(shop, prompt_id="p", test_case_ids=idents)
    assert [one.passed for one in first.executions] == [True, True]
    await says_now(shop, "a shrug of the shoulders", number=9, text=cases[1].input["text"])
    second = (await testing.batch_run_tests(shop, prompt_id="p", test_case_ids=idents)).executions
    failures = [one for one in second if not one.passed]
    regressions = [one for one in second if one.is_regression]
    assert [one.test_case_id for one in failures] == [one.test_case_id for one in regressions] == idents[1:]
    assert regressions[0].regression_type == "FAILED"
    await update_expected_output(shop, idents[1], "a shrug of the shoulders", by="anna")
    assert (await testing.execute_test_case(shop, idents[1])).passed
    stats = await seen.test_case_stats(shop, idents[1])
    assert (stats.total_runs, stats.pass_rate) == (3, pytest.approx(200 / 3))
    assert [one.regression_type for one in stats.regressions] == ["FAILED"], "a new baseline begins the history anew"
    assert [(point.date, point.total_runs) for point in stats.trend_data] == [("2026-11-21", 3)]


async def test_a_change_to_a_case_that_was_changed_since_it_was_read_is_refused(shop: Engine) -> None:
    await made(shop, expected="It is loved.")
    kept = await shop.store.read(lambda db: seen.case_record(db, "c"))
    await testing.update_test_case(shop, "c", {"description": "mine"}, seen=kept.updated_at)
    with pytest.raises(ConflictError, match="Read it again"):
        await testing.update_test_case(shop, "c", {"name": "x"}, seen=kept.updated_at - timedelta(seconds=1))
    with pytest.raises(ConflictError, match="test-case c has changed since"):
        await save_case(shop, kept, {"description": "read before, written after"}, by="ana")
    assert (await seen.test_case(shop, "c")).description == "mine"
